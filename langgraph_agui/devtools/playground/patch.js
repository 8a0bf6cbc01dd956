// JSON Patch (RFC 6902), applied to a copy: either every operation succeeds or the document stays as it was.

/** Return `document` after `operations`; throws when one of them cannot be applied. */
export function applyPatch(document, operations) {
  let root = structuredClone(document);
  for (const operation of operations) root = applyOne(root, operation);
  return root;
}

function applyOne(root, { op, path, from, value }) {
  switch (op) {
    case "add":
      return put(root, tokens(path), structuredClone(value), true);
    case "replace":
      read(root, tokens(path));
      return put(root, tokens(path), structuredClone(value), false);
    case "remove":
      return take(root, tokens(path));
    case "copy":
      return put(root, tokens(path), structuredClone(read(root, tokens(from))), true);
    case "move": {
      if (path !== from && path.startsWith(`${from}/`)) throw new Error(`cannot move ${from} into itself`);
      const moved = read(root, tokens(from));
      return put(take(root, tokens(from)), tokens(path), moved, true);
    }
    case "test":
      if (!same(read(root, tokens(path)), value)) throw new Error(`test failed at ${path}`);
      return root;
    default:
      throw new Error(`unknown operation ${op}`);
  }
}

function tokens(pointer) {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new Error(`${pointer} is not a JSON Pointer`);
  return pointer.slice(1).split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(root, path) {
  return path.reduce((node, token) => {
    if (Array.isArray(node)) return node[index(token, node.length - 1)];
    if (!isObject(node) || !Object.hasOwn(node, token)) throw new Error(`nothing at ${token}`);
    return node[token];
  }, root);
}

function put(root, path, value, insert) {
  if (path.length === 0) return value;
  const parent = read(root, path.slice(0, -1));
  const last = path.at(-1);
  if (Array.isArray(parent)) {
    const at = last === "-" && insert ? parent.length : index(last, insert ? parent.length : parent.length - 1);
    parent.splice(at, insert ? 0 : 1, value);
  } else if (isObject(parent)) {
    // Plain assignment to "__proto__" would replace the prototype instead of adding a member.
    Object.defineProperty(parent, last, { value, writable: true, enumerable: true, configurable: true });
  } else throw new Error(`nothing can be put at ${last}`);
  return root;
}

function take(root, path) {
  if (path.length === 0) return null;
  read(root, path);
  const parent = read(root, path.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
  else delete parent[path.at(-1)];
  return root;
}

function index(token, highest) {
  if (!/^(0|[1-9]\d*)$/.test(token) || Number(token) > highest) throw new Error(`${token} is not an index here`);
  return Number(token);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(one, other) {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => same(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}
