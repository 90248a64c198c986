import { GatewayError } from "propylon";
import { digestOf, FIRST_PROBLEM, parseJson, problemText } from "propylon/kit";
import { isSameHost } from "propylon/internal";
import { skillSchema, MAX_DEPTH } from "propylon/contract";
import { z } from "zod";
import type { RemoteAgentOptions, AgentDialect } from "../options.ts";

/** How messages travel. */
export type RemoteBinding = "JSONRPC" | "HTTP+JSON" | "contract";

/** One thing a remote agent can do. */
export type RemoteSkill = z.output<typeof remoteSkillSchema>;

/** Where and how an agent takes messages. */
export interface AgentInterface {
  readonly dialect: AgentDialect;
  readonly binding: RemoteBinding;
  readonly url: URL;
  readonly tenant: string;
}

/** What an agent says of itself, as far as it is used here. */
export interface RemoteCard {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly RemoteSkill[];
  readonly streams: boolean;
  readonly interface: AgentInterface;
  /** Of its bytes. */
  readonly hash: string;
}

/** Cards of other makers: what says nothing of what is offered may be missing, as ProtoJSON leaves out what is empty. */
const remoteSkillSchema = skillSchema.extend({
  name: z.string().optional(),
  description: z.string().default(""),
  tags: z.array(z.string()).max(1_000).default([]),
});
const interfaceSchema = z.looseObject({
  url: z.string(),
  protocolBinding: z.string(),
  protocolVersion: z.string().default("1.0"),
  tenant: z.string().default(""),
});
/** Each becomes a tool whose name must differ from those before. */
const MAX_SKILLS = 1_000;
const remoteCardSchema = z.looseObject({
  name: z.string().min(1),
  description: z.string().default(""),
  version: z.string().default("0"),
  skills: z.array(remoteSkillSchema).min(1).max(MAX_SKILLS),
  capabilities: z.looseObject({ streaming: z.boolean().default(false) }).prefault({}),
  supportedInterfaces: z.array(interfaceSchema).max(1_000).default([]),
  // A2A 0.3.
  protocolVersion: z.string().optional(),
  url: z.string().optional(),
  preferredTransport: z.string().default("JSONRPC"),
  additionalInterfaces: z
    .array(z.looseObject({ url: z.string(), transport: z.string() }))
    .max(1_000)
    .default([]),
});
type Card = z.output<typeof remoteCardSchema>;

/** An interface as a card has it. */
interface Offer {
  readonly url: string;
  readonly binding: string;
  readonly tenant?: string;
}

/**
 * Reads a card.
 * @throws {GatewayError} `invalid` for one that cannot be used
 */
export function readCard(bytes: Buffer, options: RemoteAgentOptions): RemoteCard {
  const card = parseCard(bytes);
  const { name, description, version, skills, capabilities } = card;
  const dialect = options.dialect === "auto" ? dialectOf(card) : options.dialect;
  return {
    name,
    description,
    version,
    skills,
    streams: capabilities.streaming,
    interface: interfaceOf(card, dialect, options),
    hash: digestOf(bytes),
  };
}

/** `url` as a folder, so that paths are below it. */
export function baseOf({ url }: Pick<RemoteAgentOptions, "url">): URL {
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

function parseCard(bytes: Buffer): Card {
  let json: unknown;
  try {
    json = parseJson(bytes, MAX_DEPTH);
  } catch {
    throw broken("The agent card is not JSON, or nests too deep.");
  }
  const card = remoteCardSchema.safeParse(json, FIRST_PROBLEM);
  if (card.success) return card.data;
  throw broken(`The agent card is not valid: ${problemText(card.error.issues[0]!)}.`);
}

/** What a card shows the version of by its very shape. One that shows two is taken for the newer. */
function dialectOf(card: Card): AgentDialect {
  const versions = card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion);
  if (versions.some(isCurrent)) return "1.0";
  if (versions.some(isFormer) || card.protocolVersion !== undefined || card.url !== undefined)
    return "0.3";
  if (versions.length === 0) return "contract-v1";
  throw broken(`The agent speaks A2A ${[...new Set(versions)].join(", ")} only.`);
}

const isCurrent = (version: string): boolean => /^1(?:\.|$)/.test(version);
const isFormer = (version: string): boolean => /^0\.3(?:\.|$)/.test(version);

/**
 * A card decides which address the gateway talks to, with the operator's headers: only one on the host of `url` is taken from it,
 * or it could reach inside the operator's network.
 */
function interfaceOf(
  card: Card,
  dialect: AgentDialect,
  options: RemoteAgentOptions,
): AgentInterface {
  const base = baseOf(options);
  const offers = offersOf(card, dialect, base).filter(isSpoken);
  const [first] = offers;
  if (!first) throw broken(`The agent offers A2A ${dialect} over no protocol that is spoken here.`);
  const made = ({ binding, tenant = "" }: SpokenOffer, url: URL): AgentInterface => {
    return { dialect, binding, url, tenant };
  };
  if (options.endpoint !== undefined) return made(first, new URL(options.endpoint));
  for (const offer of offers) {
    const url = parseUrl(offer.url, base);
    if (url && isSameHost(url, base)) return made(offer, url);
  }
  throw broken(
    `The agent is on ${base.host}, and its card says that messages go to another host.`,
    "Set endpoint to where messages go if that is right.",
  );
}

function offersOf(card: Card, dialect: AgentDialect, base: URL): Offer[] {
  if (dialect === "contract-v1") return [{ url: base.href, binding: "contract" }];
  const isWanted = dialect === "1.0" ? isCurrent : isFormer;
  const listed = card.supportedInterfaces
    .filter(({ protocolVersion }) => isWanted(protocolVersion))
    .map(({ url, protocolBinding, tenant }) => ({ url, binding: protocolBinding, tenant }));
  if (listed.length > 0 || dialect === "1.0") return listed;
  return [
    ...(card.url === undefined ? [] : [{ url: card.url, binding: card.preferredTransport }]),
    ...card.additionalInterfaces.map(({ url, transport }) => ({ url, binding: transport })),
  ];
}

type SpokenOffer = Offer & { readonly binding: RemoteBinding };

function isSpoken(offer: Offer): offer is SpokenOffer {
  return ["JSONRPC", "HTTP+JSON", "contract"].includes(offer.binding);
}

function parseUrl(text: string, base: URL): URL | undefined {
  if (!URL.canParse(text, base.href)) return undefined;
  const url = new URL(text, base);
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  url.hash = "";
  return url;
}

function broken(message: string, hint?: string): GatewayError {
  return new GatewayError("invalid", message, hint === undefined ? {} : { hint });
}
