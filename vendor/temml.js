// TeX as MathML, which browsers draw without styles or fonts of ours.

export { default } from "temml";
