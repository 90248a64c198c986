import { GatewayError, type Principal } from "propylon";
import { boundedRecord, FIRST_PROBLEM, LookupQuota, Semaphore, timeoutSignal } from "propylon/kit";
import { restorePrincipal } from "propylon/internal";
import { type JobQuestion, JobQuestions } from "propylon/plugins/tasks";
import { ASK_TIMEOUTS, type Entry, type Store } from "propylon/store";
import { z } from "zod";
import type { ManagedAgent } from "../record/agent.ts";
import type { AgentRecords } from "../record/agent-records.ts";
import type { AgentRecord } from "../record/record.ts";
import { isVisible } from "../record/roster.ts";
import type { Dependencies } from "../run/dependencies.ts";
import { agentStatusOf, endingOf, type AgentStatus } from "../run/report.ts";

/** Agents that are looked for at a time: a list of ids may be long, and made up. */
const MAX_LOOKS = 16;
/** Agents that other replicas are asked to stop at a time: each takes a place among the questions of a replica. */
const STOPS = { max: 300, maxOfOne: 150 };

const timeSchema = z.string();
const answerSchema = z.object({
  target: boundedRecord(z.string(), z.string(), 10_000),
  status: z.looseObject({ agent_id: z.string(), status: z.string(), started_at: timeSchema }),
  contract: z.string(),
  output: z.string(),
  ending: z.looseObject({ status: z.string(), started_at: timeSchema }),
  already: z.boolean(),
});

/** An agent as the replica that has it tells of it. */
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

/** The agents of this replica. */
export interface AgentHost {
  readonly dependencies: Dependencies;
  find(id: string, asker: Principal): ManagedAgent | undefined;
  /** `false` when it had ended before. */
  stop(agent: ManagedAgent): Promise<boolean>;
  /** Takes in an agent that has ended, or that no replica has. */
  takeIn(entry: Entry<AgentRecord>): Promise<void>;
}

/** The agents of other replicas. */
export class ReplicaAgents {
  readonly #records: AgentRecords;
  readonly #host: AgentHost;
  readonly #questions: JobQuestions<z.output<typeof answerSchema>>;
  readonly #looks = new Semaphore(MAX_LOOKS);
  readonly #stops = new LookupQuota("agents of other replicas", STOPS);

  constructor(store: Store, records: AgentRecords, host: AgentHost) {
    this.#questions = new JobQuestions(store, answerSchema);
    this.#records = records;
    this.#host = host;
  }

  /** Answers what other replicas ask about agents here. @returns ends that */
  serve(): Promise<() => void> {
    return this.#questions.serve(({ id, asker, verb }) =>
      this.#tell(id, restorePrincipal(asker), verb),
    );
  }

  /**
   * How an agent of another replica is doing, or is once it was stopped; one that has ended is here from then on.
   *
   * @throws {GatewayError} `unavailable`
   */
  async ask(id: string, asker: Principal, verb: "look" | "cancel"): Promise<ToldAgent | undefined> {
    if (!z.uuid().safeParse(id, FIRST_PROBLEM).success) return undefined;
    const end = await this.#looks.take(timeoutSignal(ASK_TIMEOUTS.look)).catch(refuse);
    try {
      const entry = await this.#records.kv.get(id);
      if (!entry || !isVisible(entry.value, asker)) return undefined;
      if (await this.#records.isAtOther(entry.value)) {
        const { ref, roles } = asker;
        const question = { id, asker: { ref, roles: [...roles] }, verb };
        const told = () => this.#questions.ask(entry.value.replica, question);
        // A replica may take half a minute to stop one. Looks do not wait for it.
        if (verb === "cancel") end();
        const answer = verb === "cancel" ? this.#stops.run(ref, told) : told();
        return (await answer) as unknown as ToldAgent;
      }
      await this.#host.takeIn(entry);
      return await this.#tell(id, asker, verb);
    } finally {
      end();
    }
  }

  /** Tells of an agent that is here, or is once it was stopped. */
  async #tell(
    id: string,
    asker: Principal,
    verb: JobQuestion["verb"],
  ): Promise<ToldAgent | undefined> {
    const agent = this.#host.find(id, asker);
    const ends = agent && verb === "cancel" && (await this.#host.stop(agent));
    return agent && toldOf(agent, this.#host, !ends);
  }
}

/** @throws {GatewayError} `unavailable` */
function refuse(): never {
  throw new GatewayError("unavailable", "Too many agents are looked for at the moment.", {
    hint: "Make the request again.",
    headers: { "retry-after": "1" },
  });
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
