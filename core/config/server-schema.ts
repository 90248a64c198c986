import { z } from "zod";
import { durationSchema as duration } from "../kit/units.ts";

/** What every entry of `servers` has, whatever its type. */
export const entryCommon = {
  enabled: z.boolean().default(true).describe("Whether the server takes part at all."),
  timeout: duration().optional().describe("Longest run of one call; a bare number is seconds."),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+$/)
    .optional()
    .describe("Prefix of exposed names; default: the server's name."),
  tools: z
    .strictObject({
      include: z
        .array(z.string())
        .optional()
        .describe("Only these tools (`*` matches any run of characters)."),
      exclude: z.array(z.string()).optional().describe("Not these tools."),
    })
    .optional()
    .describe("Which of the server's tools are exposed."),
  safeKeys: z
    .boolean()
    .default(false)
    .describe(
      "Shows clients other keys of arguments where models refuse the server's own, such as `filter[name]`.",
    ),
  libraries: z
    .record(
      z.string(),
      z.strictObject({
        argument: z
          .string()
          .min(1)
          .describe(
            "Argument that is the list of libraries; it is set to those of the caller, and what the caller sends can only narrow it.",
          ),
        empty: z
          .union([z.string(), z.record(z.string(), z.unknown())])
          .describe(
            "Answer where no library is left: a text, data or a tool's result. Such a call is not sent.",
          ),
      }),
    )
    .optional()
    .describe("By tool, as its server names it: the argument that holds the libraries it reads."),
};

/** One entry of `servers`: what every entry has. Its other options are for the schema of its type, which a plugin brings. */
export const serverSchema = z.looseObject({
  type: z
    .string()
    .min(1)
    .describe(
      "Kind of server that a plugin brings, e.g. openapi. An entry with a command is of type stdio, one with a url of type http, without saying it.",
    ),
  ...entryCommon,
});

/**
 * One server of a config: `timeout` in milliseconds, the options of its type as somebody would write them.
 *
 * @example const { type, timeout }: ServerConfig = gateway.config.servers["search"]!;
 */
export type ServerConfig = z.output<typeof serverSchema>;

/** An entry of `servers` in a config that is code; plugins say of their types what TypeScript is to know. */
export type ServerInput = z.input<z.ZodObject<typeof entryCommon>> & {
  type?: string;
  [option: string]: unknown;
};

/** The types of entries that name none: of one with a `command`, and of one with a `url`. */
export const ENTRY_TYPES: readonly string[] = ["stdio", "http"];
