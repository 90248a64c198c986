import type { AgentInfo } from "propylon/plugins/agents";

/** The schema every entry names unless its agent says otherwise. */
const SCHEMA_URL = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** Key of what the registry itself says of an entry. */
export const OFFICIAL = "io.modelcontextprotocol.registry/official";

/** Key of what the publisher adds, in the official schema. */
const PUBLISHER = "io.modelcontextprotocol.registry/publisher-provided";

/** The `server` of an entry, members in the order of the source. */
export type ServerDocument = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly version?: string;
};

/** What the operator wrote, and nothing else. */
export function toServer(agent: AgentInfo): ServerDocument {
  const { id, title, description, version, icons, url, capabilities, registry } = agent;
  return {
    ...(registry?.schema !== false && { $schema: SCHEMA_URL }),
    name: id,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(icons !== undefined && { icons }),
    remotes: [{ type: "streamable-http", url }],
    ...(capabilities !== undefined && { capabilities }),
  };
}

/** The same as the official schema of 2025-12-11 wants it. */
export function toStrictServer(agent: AgentInfo): ServerDocument {
  const { id, capabilities, url } = agent;
  const kept = (agent.icons ?? []).filter(hasSecureAddress).map(toStrictIcon);
  const title = shorten(agent.title ?? "", LIMITS.title);
  return {
    $schema: SCHEMA_URL,
    name: id,
    ...(title !== "" && { title }),
    description: shorten(agent.description ?? "", LIMITS.description) || title || agent.name,
    version: agent.version ?? "0.0.0",
    ...(kept.length > 0 && { icons: kept }),
    remotes: [{ type: "streamable-http", url }],
    ...(capabilities !== undefined && { _meta: { [PUBLISHER]: { capabilities } } }),
  };
}

/** When the definition changed: without milliseconds, as in the source. */
export function updatedAt({ updatedAt: computed, registry }: AgentInfo): string {
  return registry?.updatedAt ?? computed.replace(/\.\d+Z$/, "Z");
}

/** What the official schema bounds: characters. */
const LIMITS = { title: 100, description: 100, icon: 255 } as const;

/** What the official schema would refuse of an agent's entry, as sentences. */
export function strictProblems(agent: AgentInfo): string[] {
  const { id, title, description, version, icons = [] } = agent;
  return [
    ...(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(id) && id.length >= 3 && id.length <= 200
      ? []
      : [`its name "${id}" is not of the form reverse.domain/name`]),
    ...(description === undefined ? ["it has no description"] : []),
    ...((description?.length ?? 0) > LIMITS.description
      ? [`its description has more than ${LIMITS.description} characters`]
      : []),
    ...((title?.length ?? 0) > LIMITS.title
      ? [`its title has more than ${LIMITS.title} characters`]
      : []),
    ...(version === undefined ? ["it has no version"] : []),
    ...(icons.every(hasSecureAddress) ? [] : ["an icon has no https address"]),
    ...(icons.every((icon) => icon["sizes"] === undefined || Array.isArray(icon["sizes"]))
      ? []
      : ["the sizes of an icon are not a list"]),
  ];
}

type Icon = NonNullable<AgentInfo["icons"]>[number];

function hasSecureAddress({ src }: Icon): boolean {
  return typeof src === "string" && src.startsWith("https://") && src.length <= LIMITS.icon;
}

const SIZE = /^(?:\d+x\d+|any)$/;
const IMAGE_TYPE = /^image\/(?:png|jpeg|jpg|svg\+xml|webp)$/;
const THEME = /^(?:light|dark)$/;

/** An icon with nothing in it that the schema would refuse. */
function toStrictIcon({ src, sizes, mimeType, theme }: Icon): Icon {
  const known = typeof sizes === "string" ? sizes.split(/\s+/) : sizes;
  const kept = Array.isArray(known) ? known.filter((size) => SIZE.test(String(size))) : [];
  return {
    src,
    ...(kept.length > 0 && { sizes: kept }),
    ...(IMAGE_TYPE.test(String(mimeType)) && { mimeType }),
    ...(THEME.test(String(theme)) && { theme }),
  };
}

function shorten(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`;
}
