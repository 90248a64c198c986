/** Arguments that fit a schema, and answers that a document promises. */
const MAX_DEPTH = 6;

/** The required arguments of a tool. */
export function toArguments(schema) {
  const given = sample({ ...schema, type: "object" }, schema, 0);
  // Nothing can stand in a path for an empty map.
  const said = Object.entries(given).map(([key, value]) => [key, isEmpty(value) ? "x" : value]);
  return Object.fromEntries(said);
}

function isEmpty(value) {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function sample(schema, root, depth) {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return "x";
  if (schema.$ref)
    return sample(root.$defs?.[schema.$ref.slice("#/$defs/".length)], root, depth + 1);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum.find((each) => each !== null);
  const [one] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  const type = [schema.type].flat().find((each) => each !== "null");
  if (one && type === undefined) return sample(one, root, depth + 1);
  if (type === "object" || schema.properties) return sampleObject(schema, root, depth);
  if (type === "array") return [sample(schema.items, root, depth + 1)];
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  return "eHh4";
}

function sampleObject({ properties = {}, required = [] }, root, depth) {
  return Object.fromEntries(required.map((key) => [key, sample(properties[key], root, depth + 1)]));
}

/** What the operation at a path answers: its first success, or nothing. */
export function toAnswer(root, method, path) {
  const operation = root && operationAt(root, method.toLowerCase(), path);
  const [status, response] = successOf(root, operation);
  const [type, media] = Object.entries(response?.content ?? {})[0] ?? [];
  if (type === undefined || status === 204 || method === "HEAD") return { status };
  if (!/json/.test(type))
    return { status, type: type.includes("*") ? "text/plain" : type, body: "text" };
  return {
    status,
    type: "application/json",
    body: JSON.stringify(promised(media?.schema, root, 0)),
  };
}

function operationAt(root, method, path) {
  const parts = path.split("/");
  for (const [template, item] of Object.entries(root.paths ?? {})) {
    const wanted = template.split("/");
    const fits =
      wanted.length === parts.length &&
      wanted.every((part, at) => part.includes("{") || part === parts[at]);
    if (fits && item?.[method]) return item[method];
  }
  return undefined;
}

function successOf(root, operation) {
  for (const [status, response] of Object.entries(operation?.responses ?? {}))
    if (/^2\d\d$/.test(status)) return [Number(status), followed(response, root)];
  return [200, undefined];
}

function promised(written, root, depth) {
  const schema = followed(written, root);
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return null;
  if (schema.example !== undefined) return schema.example;
  const { type, properties, items, allOf } = schema;
  if (allOf) return Object.assign({}, ...allOf.map((each) => promised(each, root, depth + 1)));
  if (properties || type === "object")
    return Object.fromEntries(
      Object.entries(properties ?? {}).map(([key, each]) => [key, promised(each, root, depth + 1)]),
    );
  if (type === "array") return [promised(items, root, depth + 1)];
  if (type === "integer" || type === "number") return 1;
  if (type === "boolean") return true;
  return "text";
}

function followed(node, root) {
  let found = node;
  for (let hops = 0; typeof found?.$ref === "string" && hops < 20; hops++)
    found = found.$ref
      .slice(2)
      .split("/")
      .reduce(
        (at, part) => at?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")],
        root,
      );
  return found;
}
