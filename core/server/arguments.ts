import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { z } from "zod";
import { GatewayError } from "../kit/errors.ts";
import { describeIssue, describeUnit, describeUnknown } from "./plugin/argument-words.ts";
import { checkShape, isSmall } from "../kit/check-shape.ts";
import { type ExactNumber, mapExact, roundFractions } from "../kit/exact-number.ts";
import { problemText } from "../kit/problem-text.ts";
import type { ToolSchema } from "../plugin/definitions.ts";
import type { Json } from "../kit/types.ts";

/** A schema ready for use: as it goes over the wire, and as it checks. */
export interface CompiledSchema {
  readonly json: Json;
  /** The value, with zod's defaults and transforms applied, or one sentence about every field that is wrong. */
  check(value: Json): { readonly value: Json } | { readonly problems: readonly string[] };
}

/** Problems of one call that are told, and those that are looked at for them: each is compared with all others. */
const MAX_TOLD = 10;
const MAX_UNITS = 100;

/** Schema of a tool that takes nothing. */
const NO_ARGUMENTS: Json = { type: "object", properties: {}, additionalProperties: false };

/** Compiles the schema of tool arguments once. zod schemas must be synchronous. */
export function compileInput(schema: ToolSchema | undefined): CompiledSchema {
  return compileSchema(schema ?? NO_ARGUMENTS, "input");
}

/** Compiles the schema of a tool's structured result once. */
export function compileOutput(schema: ToolSchema): CompiledSchema {
  return compileSchema(schema, "output");
}

function compileSchema(schema: ToolSchema, io: "input" | "output"): CompiledSchema {
  return schema instanceof z.ZodType ? fromZod(schema, io) : fromJsonSchema(schema);
}

function fromZod(given: z.ZodType, io: "input" | "output"): CompiledSchema {
  const schema = io === "input" ? withoutOthers(given) : given;
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io });
  if (json["type"] !== "object")
    throw new GatewayError("invalid", "A tool's schema must describe an object.");
  return {
    json,
    check(value) {
      const result = io === "input" ? checkInput(schema, value) : checkOutput(schema, value);
      if (result.success) return { value: result.data as Json };
      const known = Object.keys(json["properties"] ?? {});
      const whole = io === "input" ? "arguments" : "result";
      const { issues } = result.error;
      return { problems: issues.slice(0, MAX_TOLD).flatMap((one) => wordsOf(one, known, whole)) };
    },
  };
}

type Checked = z.ZodSafeParseResult<unknown>;

/**
 * zod would take an {@link ExactNumber} for an object. Where a number is wanted one is refused: the code behind it could not hold it.
 */
function checkInput(schema: z.ZodType, args: Json): Checked {
  const value = roundFractions(args);
  const standIn = mapExact(value, () => 0n);
  const found = checkShape(schema, standIn, describeIssue);
  return standIn === value || !found.success ? found : checkShape(schema, value, describeIssue);
}

/** What the code of a tool returns as an {@link ExactNumber} is a number like any other: the tool has run. */
function checkOutput(schema: z.ZodType, result: Json): Checked {
  return checkShape(schema, mapExact(result, nearestSafe), describeIssue);
}

function nearestSafe({ text }: ExactNumber): number {
  return Math.min(Math.max(Number(text), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/**
 * zod drops what an object does not name. A model that misspells an optional argument would get an answer as if all were well, so
 * it is told instead; `z.looseObject` takes others.
 */
function withoutOthers(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodObject && schema.def.catchall === undefined
    ? schema.strict()
    : schema;
}

function wordsOf(issue: z.core.$ZodIssue, known: readonly string[], whole: string): string[] {
  if (issue.code !== "unrecognized_keys") return [problemText(issue, whole)];
  return describeUnknown(issue.path, issue.keys, issue.path.length === 0 ? known : []);
}

function fromJsonSchema(json: Json): CompiledSchema {
  if (json["type"] !== "object")
    throw new GatewayError(
      "invalid",
      'A tool\'s schema must describe an object: set its "type" to "object".',
    );
  const first = new Validator(json, "2020-12", true);
  const all = new Validator(json, "2020-12", false);
  return {
    json,
    check(given) {
      const value = roundFractions(given);
      const checked = mapExact(value, ({ text }) => Number(text));
      const { valid, errors } = (isSmall(checked) ? all : first).validate(checked);
      const known = Object.keys(json["properties"] ?? {});
      return valid
        ? { value }
        : { problems: leaves(errors.slice(0, MAX_UNITS)).map((one) => describeUnit(one, known)) };
    },
  };
}

/** The validator reports every schema on the way to a problem; people need the innermost. */
function leaves(errors: readonly OutputUnit[]): OutputUnit[] {
  const places = errors.map(({ keywordLocation }) => keywordLocation);
  const isInner = (place: string): boolean =>
    !places.some((other) => other.startsWith(`${place}/`));
  return errors
    .filter(({ keyword, keywordLocation }) => keyword !== "false" && isInner(keywordLocation))
    .slice(0, MAX_TOLD);
}
