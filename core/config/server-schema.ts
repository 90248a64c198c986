import { z } from "zod";
import { serverAuthSchema } from "./server-auth.ts";
import { hasTemplate, isTemplate } from "./header-template.ts";
import { durationSchema as duration, sizeSchema as size } from "../kit/units.ts";

/** What every entry of `servers` has, whoever serves it. */
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

/**
 * Which argument of which tool is the caller's set of libraries.
 *
 * @example const { argument, empty } = rules["search"]!;
 */
export type LibraryRules = NonNullable<z.output<typeof entryCommon.libraries>>;

/** Waits between attempts to connect. */
export const backoffSchema = z.strictObject({
  initial: duration().default(2_000).describe("First wait after a failed connect."),
  max: duration().default(60_000).describe("Longest wait."),
});

const per = z.enum(["shared", "principal", "session"]);

/** Which calls to a server share a connection. */
export const serverConnectionSchema = z.strictObject({
  per: per
    .default("shared")
    .describe(
      "`shared` is one for all, `principal` one for each caller, `session` one for each MCP session.",
    ),
  max: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      "Most connections of callers at once; one that is idle makes way for another. Default: 16 children, or 64 over HTTP.",
    ),
  idle: duration()
    .default(30 * 60_000)
    .describe("How long one without calls is kept; a bare number is seconds."),
});

/**
 * Which calls share a connection, as it was read.
 *
 * @example const { per, idle }: ServerConnection = readConnection(entry.connection);
 */
export type ServerConnection = z.output<typeof serverConnectionSchema>;

/** The option of an entry: a word alone is every default. */
const connectionOption = z
  .union([per, serverConnectionSchema])
  .optional()
  .describe(
    "Which calls share a connection, and with it a child process or a session at the server: `shared` is all, `principal` those of one caller, `session` those of one MCP session. A word alone is every default. Default: shared.",
  );

/**
 * The option `connection` of an entry of `servers`, with the defaults for the word alone.
 *
 * @example const isShared = readConnection(entry.connection).per === "shared";
 */
export function readConnection(option: z.output<typeof connectionOption>): ServerConnection {
  return typeof option === "object" ? option : serverConnectionSchema.parse({ per: option });
}

/** What every entry of a server that speaks MCP itself has. */
export const serverCommon = {
  ...entryCommon,
  connectTimeout: duration()
    .optional()
    .describe(
      "Longest handshake; a bare number is seconds. Default: 10 s, and 60 s or more for a child that has never connected. A second process of one that says late that it is modern has it again.",
    ),
  ping: duration()
    .default(30_000)
    .describe(
      "How often the server is asked whether it is alive; after 3 rounds without any message from it, it is connected again. 0 = never. Not for modern HTTP, which has no lasting connection.",
    ),
  connection: connectionOption,
  protocol: z
    .enum(["auto", "legacy", "modern"])
    .default("auto")
    .describe(
      "MCP era: auto asks the server, legacy is up to 2025-11-25, modern is 2026-07-28 on.",
    ),
  maxResult: size()
    .default(64 * 1024 * 1024)
    .describe("Largest single message from the server; a bare number is bytes."),
  identity: z
    .literal("assertion")
    .optional()
    .describe(
      "Tells the server who makes each call: a token of 60 s that the gateway signs, in the header Propylon-Identity and in _meta. Default: it is told nothing.",
    ),
  backoff: backoffSchema
    .prefault({})
    .describe(
      "Waits between attempts to connect: doubled each time, less a random part of up to half.",
    ),
};

/**
 * A server that runs as a child process and speaks over its stdin and stdout.
 *
 * @example const entry = stdioServerSchema.parse({ command: "node", args: ["server.mjs"] });
 */
export const stdioServerSchema = z.strictObject({
  command: z.string().min(1).describe("Executable; started without a shell."),
  args: z.array(z.string()).default([]).describe("Arguments."),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe("Environment of the child, on top of PATH, HOME, LANG and the like."),
  cwd: z.string().optional().describe("Working directory; default: that of the config file."),
  placement: z
    .enum(["each", "one"])
    .optional()
    .describe(
      "Which of the gateways of one store run it: `each` a child of its own, or `one` of them for all, so that there is one child. Default: each.",
    ),
  ...serverCommon,
});

/**
 * A server reached over HTTP.
 *
 * @example const entry = httpServerSchema.parse({ url: "https://mcp.example.com/mcp" });
 */
export const httpServerSchema = z
  .strictObject({
    url: z.url({ protocol: /^https?$/ }).describe("MCP endpoint of the server."),
    transport: z
      .enum(["streamable-http", "sse"])
      .default("streamable-http")
      .describe("`sse` is the HTTP+SSE transport of 2024-11-05."),
    headers: z
      .record(z.string(), z.string())
      .default({})
      .refine((headers) => Object.values(headers).every(isTemplate), {
        message: "A value names something else than {principal.ref} or {principal.claims.NAME}.",
      })
      .describe(
        "Headers sent with every request, e.g. Authorization. `{principal.ref}` and `{principal.claims.NAME}` in a value stand for who calls.",
      ),
    auth: z
      .union([z.literal("oauth"), serverAuthSchema])
      .optional()
      .describe(
        "Logs in at the server with OAuth; `oauth` alone is every default. Default: no login.",
      ),
    proxy: z
      .union([z.literal("environment"), z.url({ protocol: /^https?$/ })])
      .optional()
      .describe(
        "HTTP proxy to reach the server by: its URL, or `environment` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Default: none.",
      ),
    tls: z
      .strictObject({
        ca: z
          .string()
          .optional()
          .describe("File with the authorities to trust, in place of those of Node; PEM."),
        cert: z.string().optional().describe("File with the gateway's certificate; PEM."),
        key: z.string().optional().describe("File with the key of that certificate; PEM."),
      })
      .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
        message: "A certificate and its key belong together.",
      })
      .optional()
      .describe(
        "Certificates for this server. Relative paths start from the folder of the config file.",
      ),
    allowAddresses: z
      .array(z.string())
      .optional()
      .describe(
        "Host names, addresses and networks that the URL may lead to besides public ones; the management API writes it into what it adds. Default: everything.",
      ),
    ...serverCommon,
  })
  .refine(({ auth, transport }) => auth === undefined || transport === "streamable-http", {
    path: ["auth"],
    message: "A login needs transport: streamable-http.",
  })
  .refine(({ proxy, allowAddresses }) => proxy === undefined || allowAddresses === undefined, {
    path: ["proxy"],
    message: "A proxy looks names up itself, so allowAddresses could not be kept.",
  })
  .refine(({ auth, headers }) => auth === undefined || !hasAuthorization(headers), {
    path: ["auth"],
    message: "The server has both a login and a header Authorization.",
  });

/** Longest handshake where the entry says nothing, in milliseconds; what starts a child may have to install it first. */
const CONNECT_MS = { usual: 10_000, firstOfChild: 60_000 };

/**
 * How long the handshake with a server may take, in milliseconds.
 *
 * @param isFirst whether it has never connected; default: it has
 * @example const limit = connectTimeoutOf(entry, isFirst);
 */
export function connectTimeoutOf(
  entry: Pick<HttpServerConfig | StdioServerConfig, "connectTimeout">,
  isFirst = false,
): number {
  const isLong = isFirst && "command" in entry;
  return entry.connectTimeout ?? (isLong ? CONNECT_MS.firstOfChild : CONNECT_MS.usual);
}

/**
 * Whether requests to a server differ with who calls.
 *
 * @example const connections = isPersonal(entry) ? perPrincipal : shared;
 */
export function isPersonal({ auth, headers }: HttpServerConfig): boolean {
  const isOwn = typeof auth === "object" && auth.per === "principal";
  return isOwn || Object.values(headers).some(hasTemplate);
}

function hasAuthorization(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** A server of a kind that a plugin brings; its other options are the plugin's to check. */
export const typedServerSchema = z.looseObject({
  type: z
    .string()
    .min(1)
    .describe("Kind of server that a plugin brings, e.g. openapi; its other options are there."),
  ...entryCommon,
});

/** One entry of `servers`. */
export const serverSchema = z.union([stdioServerSchema, httpServerSchema, typedServerSchema]);

/**
 * One server of a config.
 *
 * @example const entry = gateway.config.servers["search"] as ServerConfig;
 */
export type ServerConfig = z.output<typeof serverSchema>;
/**
 * An entry of `servers` with a `command`, as it was read: times in milliseconds, sizes in bytes.
 *
 * @example const { command, args }: StdioServerConfig = entry;
 */
export type StdioServerConfig = z.output<typeof stdioServerSchema>;
/**
 * An entry of `servers` with a `url`, likewise.
 *
 * @example const { url, headers }: HttpServerConfig = entry;
 */
export type HttpServerConfig = z.output<typeof httpServerSchema>;
/** An entry that belongs to the plugin that brings its `type`. */
export type TypedServerConfig = z.output<typeof typedServerSchema>;

/** The types of entries that name none. */
export const ENTRY_TYPES: readonly string[] = ["stdio", "http"];

/** The type that serves an entry. */
export function typeOf(entry: ServerConfig): string {
  if ("type" in entry) return entry.type;
  return "command" in entry ? "stdio" : "http";
}
