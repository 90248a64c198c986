import { z } from "zod";
import { READ_ONCE } from "../kit/check-shape.ts";
import { authSchema } from "./auth.ts";
import { limitsSchema, timeoutsSchema } from "./bounds.ts";
import { type ServerInput, serverSchema } from "./server-schema.ts";

/**
 * Schema of an address to listen on.
 *
 * @example const config = z.strictObject({ listener: addressSchema().optional().describe("A listener of its own.") });
 */
export function addressSchema() {
  return z.strictObject({
    host: z.string().default("127.0.0.1").describe("Address to bind."),
    port: z.int().min(0).max(65_535).describe("TCP port; 0 picks a free one."),
  });
}

const { host, port } = addressSchema().shape;
export const listenerSchema = z.strictObject({
  host,
  port: port.default(8080),
  tls: z
    .strictObject({
      cert: z.string().describe("PEM file of the certificate chain."),
      key: z.string().describe("PEM file of the private key."),
      passphrase: z.string().optional().describe("Of the key."),
    })
    .optional()
    .describe("Serve HTTPS."),
  basePaths: z
    .array(z.string().regex(/^(?:\/[A-Za-z0-9._~-]+)+$/, "must be a path such as /api/tools"))
    .default([])
    .describe(
      "Paths below which everything is served too: taken off the front of a request's path, one after the other. A proxy in front may have taken them off already.",
    ),
  allowedHosts: z
    .array(z.string())
    .default([])
    .describe("Host header values accepted besides the bound address and publicUrl."),
  allowedOrigins: z
    .array(z.string())
    .default([])
    .describe("Origin header values accepted besides the listener's own."),
});

/**
 * One of the config's `endpoints`: its path and what it shows.
 *
 * @example const endpoint = endpointSchema.parse({ path: "/mcp", servers: ["search"] });
 */
export const endpointSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\/[A-Za-z0-9._~/-]*$/)
    .default("/mcp")
    .describe("Path of the MCP endpoint."),
  listener: z.string().optional().describe("Listener by name; default: the first."),
  servers: z
    .array(z.string())
    .optional()
    .describe(
      "Servers, plugins and agents shown here; of two tools of one name the first server has it. Default: all but the agents.",
    ),
  tools: z
    .array(z.string())
    .optional()
    .describe(
      "Tools shown here, as `server/tool`, or as the name of a tool that one server alone has (`*` matches any run of characters); default: all.",
    ),
  naming: z
    .enum(["none", "server", "auto"])
    .default("auto")
    .describe(
      "Names of tools and prompts: as they are, prefixed with the server, or prefixed only where two collide, or may.",
    ),
  separator: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,4}$/)
    .default("__")
    .describe("Between prefix and name."),
  nameLength: z
    .int()
    .min(32)
    .max(128)
    .default(64)
    .describe(
      "Longest name of a tool or prompt; a longer one is shortened, with a digest at its end.",
    ),
  instructions: z
    .string()
    .optional()
    .describe("Usage notes for models, in place of those of the servers."),
});

/** The whole gateway config, key by key. */
export const configObject = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(200)
    .default("propylon")
    .describe("Name of this gateway; as reverse-DNS/name when it is in a registry."),
  version: z
    .string()
    .optional()
    .describe("Version shown to MCP clients; default: that of the package."),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("URL at which clients reach the gateway."),
  listeners: z
    .record(z.string(), listenerSchema)
    .default({ main: listenerSchema.parse({}, READ_ONCE) })
    .describe("Sockets by name; the first is the default."),
  endpoints: z
    .record(z.string(), endpointSchema)
    .default({ mcp: endpointSchema.parse({}, READ_ONCE) })
    .describe("MCP endpoints by name: each is a path and a selection of servers and tools."),
  store: z
    .string()
    .min(1)
    .default("memory")
    .describe(
      "Where the gateway keeps its state: sqlite:./data/gateway.db, postgres://..., redis://... or nats://... With memory a restart loses it.",
    ),
  workers: z
    .union([z.literal("auto"), z.int().min(1).max(256)])
    .default(1)
    .describe(
      "Processes that serve together on one machine, e.g. auto for one per core. For propylon start.",
    ),
  servers: z
    .record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), serverSchema)
    .default({})
    .describe("MCP servers by name."),
  plugins: z
    .record(
      z.string(),
      z.union([z.literal(false), z.literal(true), z.null(), z.record(z.string(), z.unknown())]),
    )
    .default({})
    .describe(
      "Plugins: a bare name is first-party, ./x is a file beside the config, anything else an npm package. false switches off.",
    ),
  auth: authSchema.prefault({}).describe("Authentication without a plugin."),
  management: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe("Whether there is a management API at all, with the plugins that bring it."),
      mutations: z
        .boolean()
        .default(false)
        .describe("Whether the management API may change anything."),
      readOnly: z
        .boolean()
        .default(false)
        .describe("Refuse every request that changes anything, of any plugin; beats mutations."),
    })
    .prefault({})
    .describe("The management API."),
  insecure: z
    .boolean()
    .default(false)
    .describe("Allow a non-loopback listener without authentication."),
  limits: limitsSchema.prefault({}).describe("Bounds on what a client can cost."),
  timeouts: timeoutsSchema.prefault({}).describe("Times; a bare number is seconds."),
  log: z
    .strictObject({
      level: z
        .enum(["silent", "fatal", "error", "warn", "info", "debug", "trace"])
        .default("info")
        .describe("Least severe level; info has one line per call."),
      format: z
        .enum(["auto", "json", "pretty"])
        .default("auto")
        .describe("auto is pretty on a terminal."),
    })
    .prefault({})
    .describe("Logging."),
});

/**
 * A gateway config as the program uses it: defaults filled in, durations in ms, sizes in bytes.
 *
 * @example const { publicUrl } = gateway.info.effectiveConfig() as GatewayConfig;
 */
export type GatewayConfig = z.output<typeof configObject>;
/**
 * Sections of plugins at the top of a config; each plugin adds its own.
 * @example declare module "propylon" { interface ConfigSections { rooms?: RoomsInput } }
 */
export interface ConfigSections {}

/**
 * A gateway config as people write it, with the sections of plugins; a bare duration is seconds.
 *
 * @example const config: GatewayConfigInput = { servers: { search: { url: "https://search.example/mcp" } } };
 */
export type GatewayConfigInput = Omit<z.input<typeof configObject>, "servers"> & {
  servers?: Record<string, ServerInput> | undefined;
} & ConfigSections;

/**
 * Reads what people write into a {@link GatewayConfig}.
 *
 * @example const config = configSchema.parse({ listeners: { main: { port: 8080 } } });
 */
export const configSchema: z.ZodType<GatewayConfig> = configObject;
export type ListenerConfig = z.output<typeof listenerSchema>;
/**
 * One of the config's `endpoints`, as it was read.
 *
 * @example const { path, naming }: EndpointConfig = content.config;
 */
export type EndpointConfig = z.output<typeof endpointSchema>;
