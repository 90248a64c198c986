/** What Claude, OpenAI and strict clients refuse a tool for, and with it every other tool. */
import { Ajv2020 } from "ajv/dist/2020.js";

const TOOL = /^[a-zA-Z0-9_-]{1,64}$/;
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_OUTPUT = 20_000;
const MAPS = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
const DATA = ["enum", "const", "default", "examples"];
const ajv = new Ajv2020({ strict: false, logger: false });

export function refusalsOf({ name, inputSchema, outputSchema }) {
  const said = [
    ...(TOOL.test(name) ? [] : ["its name"]),
    ...(inputSchema.type === "object" ? [] : ["no object"]),
    ...["anyOf", "oneOf", "allOf"].filter((key) => key in inputSchema),
    ...inSchema(inputSchema, inputSchema, true),
    ...(outputSchema === undefined ? [] : inSchema(outputSchema, outputSchema, false)),
    ...(JSON.stringify(outputSchema ?? {}).length > MAX_OUTPUT
      ? ["the size of its output schema"]
      : []),
    ...[inputSchema, outputSchema ?? {}]
      .filter((schema) => !ajv.validateSchema(schema))
      .map(() => ajv.errorsText()),
  ];
  return said.map((each) => `${name}: ${each}`);
}

/** Results are passed on as they are: their keys are nobody's but the API's. */
function inSchema(schema, root, isInput) {
  if (Array.isArray(schema)) return schema.flatMap((each) => inSchema(each, root, isInput));
  if (typeof schema !== "object" || schema === null) return [];
  const found = Object.entries(schema).flatMap(([key, value]) =>
    inKeyword(key, value, root, isInput),
  );
  const isList = [schema.type].flat().includes("array");
  if (isList && isInput && schema.items === undefined && schema.prefixItems === undefined)
    found.push("a list without items");
  return found;
}

function inKeyword(key, value, root, isInput) {
  if (DATA.includes(key)) {
    const isDoubled =
      key === "enum" && new Set(value.map((each) => JSON.stringify(each))).size < value.length;
    return isDoubled ? ["an enum with a value twice"] : [];
  }
  if (MAPS.includes(key))
    return Object.entries(value).flatMap(([name, each]) => [
      ...(key === "properties" && isInput && !KEY.test(name) ? [`the key ${name}`] : []),
      ...(key === "patternProperties" ? patternOf(name) : []),
      ...inSchema(each, root, isInput),
    ]);
  if (key === "pattern") return patternOf(value);
  if (key === "$ref")
    return value.startsWith("#/$defs/") && root.$defs?.[value.slice(8)] !== undefined
      ? []
      : [`the reference ${value}`];
  return inSchema(value, root, isInput);
}

function patternOf(pattern) {
  try {
    return new RegExp(pattern, "u").unicode ? [] : [];
  } catch {
    return [`the pattern ${pattern}`];
  }
}
