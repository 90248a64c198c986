import { GatewayError, type Principal } from "propylon";
import { boundedRecord, FIRST_PROBLEM, Semaphore, timeoutSignal } from "propylon/kit";
import { askOnce, type Store } from "propylon/store";
import { keptPrincipalSchema, restorePrincipal } from "propylon/internal";
import { z } from "zod";
import type { ManagedAgent } from "../record/agent.ts";
import type { AgentArchive } from "./archive.ts";
import type { Dependencies } from "../run/dependencies.ts";
import { agentStatusOf, endingOf, type AgentStatus } from "../run/report.ts";
import { isVisible } from "../record/roster.ts";

/** How long another gateway may take, in milliseconds: it ends an agent when the store has that. */
const ANSWER_MS = 10_000;
/** Agents that are looked for at a time: a list of ids may be long, and made up. */
const MAX_LOOKS = 16;
const TOPIC = "agent";

const questionSchema = z.object({
  id: z.uuid(),
  /** Who asks, and is checked where the agent is, too. */
  asker: keptPrincipalSchema.pick({ ref: true, roles: true }),
  verb: z.enum(["look", "stop"]),
});
const timeSchema = z.string();
const answerSchema = z.object({
  target: boundedRecord(z.string(), z.string(), 10_000),
  status: z.looseObject({ agent_id: z.string(), status: z.string(), started_at: timeSchema }),
  contract: z.string(),
  output: z.string(),
  ending: z.looseObject({ status: z.string(), started_at: timeSchema }),
  already: z.boolean(),
});

/** An agent as the gateway tells of it that has it. */
export interface ToldAgent {
  /** As {@link agentStatusOf}. */
  readonly status: AgentStatus;
  readonly contract: string;
  readonly output: string;
  /** For the audit. */
  readonly target: Readonly<Record<string, string>>;
  /** As {@link endingOf}. */
  readonly ending: ReturnType<typeof endingOf>;
  /** Whether it had ended before it was stopped. */
  readonly already: boolean;
}

/** The agents of this gateway. */
export interface AgentHost {
  readonly dependencies: Dependencies;
  find(id: string, asker: Principal): ManagedAgent | undefined;
  /** `false` when it had ended before. */
  stop(agent: ManagedAgent): Promise<boolean>;
  /** Takes in agents of other gateways that have ended since. */
  takeOver(): Promise<void>;
}

/** The agents of other gateways of the store. */
export class AgentsElsewhere {
  readonly #store: Store;
  readonly #archive: AgentArchive;
  readonly #host: AgentHost;
  readonly #looks = new Semaphore(MAX_LOOKS);

  constructor(store: Store, archive: AgentArchive, host: AgentHost) {
    this.#store = store;
    this.#archive = archive;
    this.#host = host;
  }

  /** Answers what others ask about agents here. @returns ends that */
  async serve(): Promise<() => void> {
    const host = this.#host;
    const end = await this.#store.answer(TOPIC, async function* (body: unknown) {
      const { id, asker, verb } = questionSchema.parse(body, FIRST_PROBLEM);
      const principal = restorePrincipal(asker);
      const agent = host.find(id, principal);
      if (!agent) throw new GatewayError("not_found", "The agent is not here.");
      const ends = verb === "stop" && (await host.stop(agent));
      yield toldOf(agent, host, !ends);
    });
    return () => void end();
  }

  /** How an agent of another gateway is doing; one that has ended is here from then on. @throws {GatewayError} `unavailable` */
  look(id: string, asker: Principal): Promise<ToldAgent | undefined> {
    return this.#ask(id, asker, "look");
  }

  /** Stops an agent of another gateway. @throws {GatewayError} `unavailable` */
  stop(id: string, asker: Principal): Promise<ToldAgent | undefined> {
    return this.#ask(id, asker, "stop");
  }

  async #ask(id: string, asker: Principal, verb: "look" | "stop"): Promise<ToldAgent | undefined> {
    if (!z.uuid().safeParse(id, FIRST_PROBLEM).success) return undefined;
    const end = await this.#looks.take(timeoutSignal(ANSWER_MS));
    try {
      const record = await this.#archive.locate(id);
      if (!record || !isVisible(record, asker)) return undefined;
      if (record.end || !(await this.#archive.isElsewhere(record)))
        return await this.#fetch(id, asker);
      const { ref, roles } = asker;
      const body = { id, asker: { ref, roles: [...roles] }, verb };
      const question = { topic: TOPIC, body, schema: answerSchema, timeout: ANSWER_MS };
      const told = await askOnce(this.#store, record.gateway, question);
      return told as unknown as ToldAgent;
    } finally {
      end();
    }
  }

  /** One that has ended meanwhile, or whose gateway has. */
  async #fetch(id: string, asker: Principal): Promise<ToldAgent | undefined> {
    await this.#host.takeOver();
    const agent = this.#host.find(id, asker);
    return agent && toldOf(agent, this.#host, true);
  }
}

function toldOf(agent: ManagedAgent, { dependencies }: AgentHost, already: boolean): ToldAgent {
  const { id, name, owner, contract, output } = agent;
  return {
    status: agentStatusOf(agent, dependencies),
    contract,
    output: output.text,
    target: { agent: id, name, owner: owner.ref },
    ending: endingOf(agent, already),
    already,
  };
}
