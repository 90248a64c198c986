/** What the mock checks of a request: that its endpoint is the one that was meant, and that each value is where the document has it. */
import { follow, meanings, misfit } from "./document.mjs";

/** Headers that no argument sets (OpenAPI 3.1, 4.8.12.1) or that are those of a connection. */
const NO_PARAMETERS =
  /^(?:accept|authorization|content-type|content-length|transfer-encoding|connection|host|cookie)$/i;
const SEPARATORS = { spaceDelimited: "%20", pipeDelimited: "%7C" };

/** The texts and numbers in a value, as texts. */
export function leavesOf(value) {
  if (value === null || value === undefined) return [];
  return typeof value === "object" ? Object.values(value).flatMap(leavesOf) : [String(value)];
}

/**
 * Reads a request by the document.
 * @returns the leaves that arrived, and what is wrong with it
 */
export async function readRequest(endpoint, { method, url, headers, body }) {
  const problems = method === endpoint.method ? [] : [`${method} came, not ${endpoint.method}`];
  const leaves = [];
  const given = new Set();
  const take = (parameter, values) => {
    given.add(parameter);
    leaves.push(...values);
  };
  const [target, search = ""] = splitOnce(url, "?");
  const [path, ownSearch = ""] = splitOnce(withoutFragment(endpoint.path), "?");
  if (url.includes("#")) problems.push("a fragment in the request");
  readPath(endpoint, path, target, take, problems);
  readQuery(endpoint, search, ownSearch, take, problems);
  for (const parameter of at(endpoint, "header"))
    if (headers[parameter.name.toLowerCase()] !== undefined && !NO_PARAMETERS.test(parameter.name))
      take(
        parameter,
        partsOf(parameter, headers[parameter.name.toLowerCase()], ",", endpoint.root),
      );
  for (const pair of (headers.cookie ?? "").split("; ").filter(Boolean)) {
    const [name, text = ""] = splitOnce(pair, "=");
    const parameter = at(endpoint, "cookie").find((each) => encodeURIComponent(each.name) === name);
    take(parameter, partsOf(parameter ?? {}, decodeURIComponent(text), ",", endpoint.root));
  }
  for (const parameter of endpoint.parameters)
    if (
      (parameter.required || parameter.in === "path") &&
      !NO_PARAMETERS.test(parameter.name) &&
      !given.has(parameter)
    )
      if (["path", "query", "header", "cookie"].includes(parameter.in) && isInPath(parameter, path))
        problems.push(`${parameter.in} ${parameter.name} is missing`);
  leaves.push(...(await readBody(endpoint, headers["content-type"], body, problems)));
  return { leaves, problems };
}

/** Documents describe parameters of paths that are not in the path; there is no place for them. */
function isInPath(parameter, path) {
  return parameter.in !== "path" || path.includes(`{${parameter.name}}`);
}

/** In a segment before the last it is none. */
function withoutFragment(path) {
  const where = path.indexOf("#", path.lastIndexOf("/"));
  return where === -1 ? path : path.slice(0, where);
}

function splitOnce(text, separator) {
  const where = text.indexOf(separator);
  return where === -1 ? [text] : [text.slice(0, where), text.slice(where + separator.length)];
}

function at({ parameters }, place) {
  return parameters.filter((each) => each.in === place);
}

function readPath(endpoint, path, target, take, problems) {
  const names = [];
  const source = path.replaceAll(/\{([^{}]+)\}|[^{}]+|[{}]/g, (part, name) => {
    if (name === undefined)
      return RegExp.escape?.(part) ?? part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
    names.push(name);
    // A text or a number of a sample, where one follows another without anything between.
    return String.raw`(v[0-9a-z]{3}|\d{4,5}|[^/]*)`;
  });
  const found =
    new RegExp(`^${source}$`).exec(target) ??
    new RegExp(`^${source}$`).exec(safely(decodeURIComponent, target));
  if (!found) return void problems.push(`the path is ${target}, not ${path}`);
  for (const [index, name] of names.entries()) {
    const parameter = at(endpoint, "path").find((each) => each.name === name) ?? { name };
    // A name that is there twice is one argument.
    if (names.indexOf(name) !== index) continue;
    const style = parameter.style ?? "simple";
    const text = safely(decodeURIComponent, found[index + 1]).replace(
      style === "matrix" ? /^;[^=]*=/ : style === "label" ? /^\./ : /^/,
      "",
    );
    take(parameter, partsOf(parameter, text, ",", endpoint.root));
  }
}

function safely(decode, text) {
  try {
    return decode(text);
  } catch {
    return text;
  }
}

function readQuery(endpoint, search, ownSearch, take, problems) {
  // A place in a query that was written into the path is filled like one of a path.
  const places = [...ownSearch.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => ({ name, in: "path" }));
  const known = [
    ...endpoint.parameters.filter((each) => each.in === "query"),
    ...places.map((place) => at(endpoint, "path").find(({ name }) => name === place.name) ?? place),
  ];
  const own = ownSearch.split("&").filter(Boolean);
  const isMap = (each) =>
    [...meanings(each.schema, endpoint.root)].some(
      ({ type, properties }) => properties || [type].flat().includes("object"),
    );
  for (const pair of search.split("&").filter(Boolean)) {
    if (own.includes(pair)) {
      own.splice(own.indexOf(pair), 1);
      continue;
    }
    const [key, raw = ""] = splitOnce(pair, "=");
    const name = safely(decodeURIComponent, key);
    const parameter =
      known.find((each) => each.name === name) ??
      known.find((each) => each.style === "deepObject" && name.startsWith(`${each.name}[`)) ??
      known.find((each) => each.style !== "deepObject" && isMap(each));
    if (!parameter) problems.push(`the query has ${name}`);
    else {
      const separator = SEPARATORS[parameter.style] ?? ",";
      const isSplit = parameter.explode === false || separator !== ",";
      const texts = (isSplit ? raw.split(separator) : [raw]).map((each) =>
        safely(decodeURIComponent, each),
      );
      take(
        parameter,
        texts.flatMap((text) => partsOf(parameter, text, undefined, endpoint.root)),
      );
    }
  }
  for (const pair of own) if (!pair.includes("{")) problems.push(`the query has not ${pair}`);
}

/** Leaves in the text of a parameter. */
function partsOf(parameter, text, separator, root) {
  if (/^[[{"]/.test(text))
    try {
      return leavesOf(JSON.parse(text));
    } catch {
      // A text like another.
    }
  const types = [...meanings(parameter.schema, root)].flatMap(({ type }) => [type].flat());
  const all = [...meanings(parameter.schema, root)];
  const isMap = types.includes("object") || all.some(({ properties }) => properties);
  if (separator === undefined || !(isMap || types.includes("array"))) return [text];
  const parts = text.split(separator);
  if (!isMap || types.includes("array")) return parts;
  return parameter.explode
    ? parts.map((each) => each.replace(/^[^=]*=/, ""))
    : parts.filter((_, index) => index % 2 === 1);
}

async function readBody({ root, body }, contentType, bytes, problems) {
  const types = Object.keys(body?.content ?? {});
  if (contentType === undefined) {
    if (body?.required && types.length > 0) problems.push("the body is missing");
    if (bytes.length > 0) problems.push("a body without a type");
    return [];
  }
  const bare = contentType.split(";", 1)[0].trim();
  const declared =
    types.find((each) => each.split(";", 1)[0].trim() === bare) ??
    types.find((each) => each.includes("*"));
  if (declared === undefined) {
    problems.push(`a body of ${contentType}`);
    return [];
  }
  const schema = follow(body.content[declared], root)?.schema;
  const value = await decodeBody(bare, contentType, bytes, body.content[declared], root);
  if (value.shape !== undefined) {
    const wrong = misfit(value.shape, schema, root);
    if (wrong) problems.push(wrong);
  }
  return value.leaves;
}

async function decodeBody(bare, contentType, bytes, media, root) {
  if (/^application\/(?:[\w.-]+\+)?json$/i.test(bare)) {
    const shape = JSON.parse(bytes.toString());
    return { shape, leaves: leavesOf(shape) };
  }
  if (/^application\/x-www-form-urlencoded$/i.test(bare)) {
    const pairs = [...new URLSearchParams(bytes.toString())];
    const keys = pairs.map(([key]) => key.replace(/\[.*/s, ""));
    const known = [...meanings(media?.schema, root)].flatMap((each) =>
      Object.keys(each.properties ?? {}),
    );
    const isKnown = (key, index) => known.includes(key) || known.includes(pairs[index][0]);
    const lost = known.length > 0 && keys.find((key, index) => !isKnown(key, index));
    const leaves = pairs.flatMap(([, text]) => partsOf({}, text, undefined, root));
    return { leaves: lost ? [...leaves, `the field ${lost}`] : leaves };
  }
  if (/^multipart\//i.test(bare)) {
    const entries = [
      ...(await new Response(bytes, {
        headers: {
          "content-type": contentType.replace(/^multipart\/[\w-]+/i, "multipart/form-data"),
        },
      }).formData()),
    ];
    const texts = entries.map(async ([, part]) =>
      typeof part === "string"
        ? partsOf({}, part, undefined, root)
        : partsOf({}, await fileText(part), undefined, root),
    );
    return { leaves: (await Promise.all(texts)).flat() };
  }
  const text = bytes.toString();
  const isText = /^[[{"]/.test(text) || /^(?:v[0-9a-z]{3}|\d+|true)$/.test(text);
  return { leaves: partsOf({}, isText ? text : bytes.toString("base64"), undefined, root) };
}

/** JSON is told as a file by some readers; everything else is bytes. */
async function fileText(part) {
  const bytes = Buffer.from(await part.arrayBuffer());
  return /json|^text/.test(part.type) ? bytes.toString() : bytes.toString("base64");
}
