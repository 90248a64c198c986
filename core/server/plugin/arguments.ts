import { Validator } from "@cfworker/json-schema";
import { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { problemText } from "../../kit/problem-text.ts";
import type { ToolSchema } from "../../plugin/definitions.ts";
import type { Json } from "../../call/types.ts";

/** A schema ready for use: as it goes over the wire, and as it checks. */
export interface CompiledSchema {
  readonly json: Json;
  /** The value, with zod's defaults and transforms applied, or one sentence about every field that is wrong. */
  check(value: Json): { readonly value: Json } | { readonly problems: readonly string[] };
}

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

function fromZod(schema: z.ZodType, io: "input" | "output"): CompiledSchema {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io });
  if (json["type"] !== "object")
    throw new GatewayError("invalid", "A tool's schema must describe an object.");
  return {
    json,
    check(value) {
      const result = schema.safeParse(value);
      if (result.success) return { value: result.data as Json };
      return {
        problems: result.error.issues.map((issue) => problemText(issue, "arguments")),
      };
    },
  };
}

function fromJsonSchema(json: Json): CompiledSchema {
  if (json["type"] !== "object")
    throw new GatewayError(
      "invalid",
      'A tool\'s schema must describe an object: set its "type" to "object".',
    );
  const validator = new Validator(json, "2020-12", false);
  return {
    json,
    check(value) {
      const { valid, errors } = validator.validate(value);
      return valid ? { value } : { problems: leaves(errors) };
    },
  };
}

/** The validator reports every schema on the way to a problem; people need the innermost. */
function leaves(errors: ReturnType<Validator["validate"]>["errors"]): string[] {
  const places = errors.map(({ keywordLocation }) => keywordLocation);
  const isInner = (place: string): boolean =>
    !places.some((other) => other.startsWith(`${place}/`));
  return errors
    .filter(({ keyword, keywordLocation }) => keyword !== "false" && isInner(keywordLocation))
    .map(
      ({ instanceLocation, error }) =>
        `${instanceLocation.slice(2).replaceAll("/", ".") || "arguments"}: ${error}`,
    );
}
