import type { PluginContext, Principal, RouteEvent } from "propylon";
import { createPrincipal, createEtag, isUnmodified } from "propylon/kit";
import type { AgentCard, Skill as CardSkill } from "propylon/contract";
import type { A2aOptions } from "../options.ts";
import type { Place } from "../place.ts";
import type { Skill } from "../tasks/task/skills.ts";

/** Version of A2A in the card. */
export const A2A_VERSION = "1.0";

/** The agent card, valid for contract v1 and A2A 1.0 alike. */
export class Card {
  readonly #gateway: PluginContext<A2aOptions>;
  readonly #place: Place;
  readonly #skills: readonly Skill[];
  #cached: Sheets | undefined;

  constructor(gateway: PluginContext<A2aOptions>, place: Place, skills: readonly Skill[]) {
    this.#gateway = gateway;
    this.#place = place;
    this.#skills = skills;
  }

  /** Where the runtime answers. */
  get place(): Place {
    return this.#place;
  }

  /** The card as it is now, with every skill; changes only with the config. */
  get document(): AgentCard {
    return this.#sheet(this.#skills).document;
  }

  /** The card as one who asks for it sees it. */
  answer(event: RouteEvent): Response {
    const { text, etag } = this.#sheet(this.#skillsOf(event.context.principal));
    // Where not everybody sees all, no cache in between may hand on what it was given for somebody.
    const isForAll = this.#skillsOf(ANYBODY).length === this.#skills.length;
    const age = `max-age=${Math.round(this.#gateway.config.cardTtl / 1_000)}`;
    const headers = {
      etag,
      "cache-control": `${isForAll ? "public" : "private"}, ${age}`,
      "content-type": "application/json",
      ...(!isForAll && { vary: "authorization" }),
    };
    return isUnmodified(event, etag)
      ? new Response(null, { status: 304, headers })
      : new Response(text, { headers });
  }

  #skillsOf(principal: Principal): readonly Skill[] {
    return this.#skills.filter((skill) => skill.isShown(principal));
  }

  #sheet(of: readonly Skill[]): Sheet {
    const { generation } = this.#gateway.info;
    const url = this.#place.url();
    if (this.#cached?.generation !== generation || this.#cached.url !== url)
      this.#cached = { generation, url, bySkills: new Map() };
    const { bySkills } = this.#cached;
    const key = of.map(({ options }) => options.id).join(" ");
    let sheet = bySkills.get(key);
    if (sheet) return sheet;
    const document = this.#write(url, of);
    const text = JSON.stringify(document);
    sheet = { document, text, etag: createEtag(text) };
    if (bySkills.size >= MAX_SHEETS) bySkills.clear();
    bySkills.set(key, sheet);
    return sheet;
  }

  #write(url: string, of: readonly Skill[]): AgentCard {
    const { config, info } = this.#gateway;
    const { name = info.describe().name, description, version, provider } = config;
    const { documentationUrl, iconUrl, inputModes, outputModes } = config;
    const skills = of.map((skill) => describeSkill(skill));
    return {
      name,
      description: description ?? skills.map((skill) => skill.description).join(" "),
      version,
      // Of HTTP+JSON it is the base, below which its routes lie.
      supportedInterfaces: (["JSONRPC", "HTTP+JSON"] as const).map((protocolBinding) => ({
        url: protocolBinding === "JSONRPC" ? url : url.replace(/\/$/, ""),
        protocolBinding,
        protocolVersion: A2A_VERSION,
      })),
      ...(provider && { provider }),
      ...(documentationUrl !== undefined && { documentationUrl }),
      ...(iconUrl !== undefined && { iconUrl }),
      capabilities: {
        streaming: true,
        pushNotifications: config.push.enabled,
        extendedAgentCard: false,
      },
      ...(this.#isGuarded && GUARDED),
      defaultInputModes: inputModes,
      defaultOutputModes: outputModes,
      skills,
    };
  }

  /** Whether messages need credentials. */
  get #isGuarded(): boolean {
    const { routes } = this.#gateway.info.describe();
    const { listener, path } = this.#place;
    return routes.some(
      (route) =>
        route.listener === listener &&
        route.path === path &&
        route.method === "POST" &&
        !route.open,
    );
  }
}

/** Cards of one config, by the ids of their skills. */
interface Sheets {
  readonly generation: number;
  readonly url: string;
  readonly bySkills: Map<string, Sheet>;
}

/** Most cards that are kept. */
const MAX_SHEETS = 100;

/** Somebody without credentials. */
const ANYBODY = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });

interface Sheet {
  readonly document: AgentCard;
  readonly text: string;
  /** Strong: the same bytes. */
  readonly etag: string;
}

/** How clients authenticate, where they must (A2A 1.0, section 4.5). */
const GUARDED = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
};

function describeSkill(skill: Skill): CardSkill {
  const { id, name = id, tags, examples, inputModes, outputModes } = skill.options;
  return {
    id,
    name,
    description: skill.description(),
    tags,
    ...(examples && { examples }),
    ...(inputModes && { inputModes }),
    ...(outputModes && { outputModes }),
  };
}
