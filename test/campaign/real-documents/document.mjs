/** An OpenAPI document as the mock reads it: on its own, so that it does not share the gateway's mistakes. */
const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];

/** What a node stands for. */
export function follow(node, root) {
  let found = node;
  for (let hops = 0; typeof found?.$ref === "string" && hops < 20; hops++)
    found = found.$ref
      .slice(2)
      .split("/")
      .map((part) => decoded(part).replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce((at, part) => at?.[part], root);
  return found;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Every endpoint, in the order of the document. */
export function endpointsOf(root) {
  return Object.entries(root.paths ?? {}).flatMap(([path, written]) => {
    const item = follow(written, root);
    if (!path.startsWith("/") || typeof item !== "object" || item === null) return [];
    return METHODS.filter((method) => isMap(item[method])).map((method) =>
      endpoint(root, method, path, item, item[method]),
    );
  });
}

function isMap(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function endpoint(root, method, path, item, operation) {
  const parameters = new Map();
  for (const written of [...list(item.parameters), ...list(operation.parameters)]) {
    const parameter = follow(written, root);
    if (typeof parameter?.name === "string")
      parameters.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const body = follow(operation.requestBody, root);
  return {
    root,
    method: method.toUpperCase(),
    path,
    parameters: [...parameters.values()],
    body,
    operation,
  };
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

/** A schema with everything that it is put together of. */
export function meanings(schema, root, found = new Set()) {
  const own = follow(schema, root);
  if (!isMap(own) || found.has(own) || found.size > 200) return found;
  found.add(own);
  for (const key of ["allOf", "anyOf", "oneOf"])
    for (const part of list(own[key])) meanings(part, root, found);
  return found;
}

/** A map of anything, whatever stands beside it. */
function isBare({ type, properties, allOf, anyOf, oneOf }) {
  return type === "object" && !properties && !allOf && !anyOf && !oneOf;
}

/** Where a value has not the shape that the document gives it: `undefined` if it has. */
export function misfit(value, schema, root, at = "body") {
  const all = [...meanings(schema, root)];
  if (Array.isArray(value)) {
    const items = all.flatMap((each) => (each.items === undefined ? [] : [each.items]));
    const within = items.length === 1 ? items[0] : { anyOf: items };
    return value.map((each) => misfit(each, within, root, `${at}[]`)).find(Boolean);
  }
  if (isMap(value)) return misfitOfMap(value, all, root, at);
  const types = all
    .flatMap((each) => [each.type].flat())
    .filter((type) => typeof type === "string");
  if (all.some((each) => list(each.enum).includes(value))) return undefined;
  const mine = { string: ["string", "file"], number: ["number", "integer"], boolean: ["boolean"] }[
    typeof value
  ];
  if (types.length === 0 || mine === undefined || mine.some((type) => types.includes(type)))
    return undefined;
  return `${at} is ${typeof value}, not ${types.join(" or ")}`;
}

function misfitOfMap(value, all, root, at) {
  const known = new Map();
  for (const { properties } of all)
    for (const [key, each] of Object.entries(isMap(properties) ? properties : {}))
      known.set(key, { anyOf: [...(known.get(key)?.anyOf ?? []), each] });
  const others = all
    .map((each) => each.additionalProperties)
    .filter((each) => each !== undefined && each !== false);
  const isFree =
    known.size === 0 ||
    others.length > 0 ||
    all.some((each) => each.patternProperties || isBare(each));
  for (const [key, part] of Object.entries(value)) {
    if (!known.has(key) && !isFree) return `${at}.${key} is not in the document`;
    const found = known.has(key) ? misfit(part, known.get(key), root, `${at}.${key}`) : undefined;
    if (found) return found;
  }
  const [own] = all;
  const missing = list(own?.required).find(
    (key) => known.has(key) && !(key in value) && !isReadOnly(known.get(key), root),
  );
  return missing === undefined ? undefined : `${at}.${missing} is missing`;
}

function isReadOnly(property, root) {
  return [...meanings(property, root)].some(({ readOnly }) => readOnly === true);
}
