import { durationSchema as duration, sizeSchema as size } from "propylon";
import { maskArguments } from "propylon/internal";
import { z } from "zod";
import { hasTemplate, isTemplate } from "./header-template.ts";
import { serverAuthSchema } from "./server-auth.ts";

/** Waits between attempts to connect. */
const backoffSchema = z.strictObject({
  initial: duration().default(2_000).describe("First wait after a failed connect."),
  max: duration().default(60_000).describe("Longest wait."),
});

const per = z.enum(["shared", "principal", "session"]);

/** Which calls to a server share a connection. */
const connectionSchema = z.strictObject({
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
      "Maximum number of connections of callers; when it is reached, an idle one is closed. Default: 16 children, or 64 over HTTP.",
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
export type ServerConnection = z.output<typeof connectionSchema>;

/** The option of an entry: a word alone is every default. */
const connectionOption = z
  .union([per, connectionSchema])
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
  return typeof option === "object" ? option : connectionSchema.parse({ per: option });
}

/** What an entry has whichever way its server is reached. */
const common = {
  connectTimeout: duration()
    .optional()
    .describe(
      "Longest handshake; a bare number is seconds. Default: 10 s, and 60 s or more for a child that has never connected. A child that turns out to be modern gets the same time for its second process.",
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

/** `command: npx -y foo`: no shell takes it apart, so a program of that whole name would be looked for. */
function checkCommand(command: string, context: z.RefinementCtx): void {
  const [program, ...args] = command.trim().split(/\s+/);
  if (args.length === 0 || !/^[\w@.+-]+$/.test(program!)) return;
  const written = `command: ${program} and args: ${JSON.stringify(maskArguments(args))}`;
  context.addIssue({
    code: "custom",
    message: "has its arguments in it",
    params: { hint: `Write ${written} if no argument holds a blank; no shell reads a command.` },
  });
}

/**
 * A server that runs as a child process and speaks over its stdin and stdout.
 *
 * @example const entry = stdioServerSchema.parse({ command: "node", args: ["server.mjs"] });
 */
export const stdioServerSchema = z.strictObject({
  command: z
    .string()
    .min(1)
    .superRefine(checkCommand)
    .describe("Executable; started without a shell."),
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
      "Which of the replicas of the same store run it: `each` a child of its own, or `one` of them for all, so that there is one child. Default: each.",
    ),
  ...common,
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
    ...common,
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

/** How long a first start may take, in milliseconds: a child may be started a second time. */
export function patienceOf(entry: HttpServerConfig | StdioServerConfig): number {
  return connectTimeoutOf(entry, true) * ("command" in entry ? 2 : 1);
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

/** An entry of `servers` that is told by what it has, or says its type. */
type Entry =
  | z.input<typeof stdioServerSchema>
  | z.input<typeof httpServerSchema>
  | { type: string };

declare module "propylon" {
  interface ConfigSections {
    /** MCP servers by name. */
    servers?: Record<string, Entry> | undefined;
  }
}
