import { Validator, type OutputUnit, type SchemaDraft } from "@cfworker/json-schema";
import { GatewayError, type Json, type Tool } from "propylon";

const DRAFTS: readonly (readonly [part: string, draft: SchemaDraft])[] = [
  ["draft-04", "4"],
  ["draft-07", "7"],
  ["2019-09", "2019-09"],
];
/** Problems named in one answer. */
const MAX_PROBLEMS = 10;

/** By tool object: a changed catalogue brings new ones, and the old go with theirs. */
const validators = new WeakMap<Tool, Validator>();

/** A place in the arguments and what is wrong there. */
interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * Checks arguments against a tool's input schema. A schema that cannot be checked refuses nothing: its server judges itself.
 *
 * @throws {GatewayError} `invalid`, with every wrong place as `data.problems` and the first as `data.path`
 */
export function checkArguments(tool: Tool, args: Json): void {
  const problems = problemsOf(tool, args);
  const [first] = problems;
  if (!first) return;
  const words = problems.map(({ path, message }) => `${path || "the arguments"}: ${message}`);
  throw new GatewayError(
    "invalid",
    `The arguments do not match the tool's input schema. ${words.join(" ")}`,
    {
      data: { path: first.path, problems },
      hint: "Correct the places that are named.",
    },
  );
}

function problemsOf(tool: Tool, args: Json): readonly Problem[] {
  try {
    let validator = validators.get(tool);
    if (!validator) {
      const { inputSchema } = tool;
      validator = new Validator(inputSchema, draftOf(inputSchema["$schema"]), false);
      validators.set(tool, validator);
    }
    const { valid, errors } = validator.validate(args);
    return valid ? [] : innermost(errors);
  } catch {
    // An unresolvable or endless $ref, or a pattern this engine does not know.
    return [];
  }
}

function draftOf(dialect: unknown): SchemaDraft {
  if (typeof dialect !== "string") return "2020-12";
  return DRAFTS.find(([part]) => dialect.includes(part))?.[1] ?? "2020-12";
}

/** The validator reports every schema on the way to a problem; people need the innermost. */
function innermost(errors: readonly OutputUnit[]): Problem[] {
  const places = errors.map(({ keywordLocation }) => keywordLocation);
  const inner = errors.filter(
    ({ keyword, keywordLocation }) =>
      keyword !== "false" && !places.some((other) => other.startsWith(`${keywordLocation}/`)),
  );
  return (inner.length > 0 ? inner : errors).slice(0, MAX_PROBLEMS).map(toProblem);
}

function toProblem({ keyword, instanceLocation, error }: OutputUnit): Problem {
  const path = toPath(instanceLocation);
  const missing = keyword === "required" ? /"(.+)"/.exec(error)?.[1] : undefined;
  if (missing === undefined) return { path, message: error };
  return { path: path === "" ? missing : `${path}.${missing}`, message: "It is missing." };
}

/** `#/a/b~1c` as `a.b/c`. */
function toPath(pointer: string): string {
  const segments = pointer.slice(2).split("/");
  return segments
    .map((segment) => decode(segment).replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
