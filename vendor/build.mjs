// Builds what the playground takes from npm; `make vendor` runs it with the packages of the lock file.
//
// Out, in the given folder: a minified ES module for each `.js` file here, and LICENSES.txt, which has the licence of
// each package that a module has parts of.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PACKAGE = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/;

/** zod brings its messages in 45 languages; the page speaks one. */
const englishOnly = {
  name: "english-only",
  setup(building) {
    building.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

async function bundle(name, folder) {
  const { metafile } = await build({
    entryPoints: [name],
    absWorkingDir: HERE,
    outfile: join(folder, name),
    banner: { js: "// Built by `make vendor`, from vendor/package-lock.json. The licences are in LICENSES.txt." },
    bundle: true,
    format: "esm",
    legalComments: "none",
    metafile: true,
    minify: true,
    plugins: [englishOnly],
    target: "es2022",
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  const used = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return used.map(([path]) => path.match(PACKAGE)).filter(Boolean);
}

async function licence([folder, name]) {
  const path = join(HERE, folder);
  const { version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
  const file = (await readdir(path)).find((one) => /^licen[cs]e/i.test(one));
  const text = (await readFile(join(path, file), "utf8")).replaceAll("\r\n", "\n").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}

const [folder] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const modules = (await readdir(HERE)).filter((name) => name.endsWith(".js"));
const found = (await Promise.all(modules.map((name) => bundle(name, folder)))).flat();
const packages = [...new Map(found.map((match) => [match[1], match])).values()];
const licences = await Promise.all(packages.sort(([, one], [, other]) => (one < other ? -1 : 1)).map(licence));
await writeFile(join(folder, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
