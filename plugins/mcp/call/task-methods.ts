import { type Principal, toGatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { TASKS_EXTENSION } from "propylon/internal";
import type { SharedTask, TaskService } from "propylon/plugins/tasks";
import { knowsTasks, type Request } from "../message/client-message.ts";
import type { EndpointContext } from "../view/context.ts";
import { invalid, responsesFault } from "../view/forward.ts";
import { type Fault, RPC, toFault } from "../message/protocol.ts";
import { type Reply, resultPieces } from "../message/reply.ts";
import { faultPieces, type Pieces } from "../message/stream.ts";
import { detailText, ownMeta } from "./task-form.ts";

const METHODS: ReadonlySet<string> = new Set(["tasks/get", "tasks/update", "tasks/cancel"]);

/** The refusal of a client that does not say that it knows tasks. */
export const NEEDS_TASKS: Fault = {
  status: 400,
  code: RPC.missingCapability,
  message: "This needs a client that declares tasks.",
  data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
};

/** `tasks/get`, `tasks/update` and `tasks/cancel` of stateless clients, for tasks of any kind (SEP-2663). */
export class TaskMethods {
  readonly #context: EndpointContext;

  constructor(context: EndpointContext) {
    this.#context = context;
  }

  /** Whether a request is for this. */
  serves({ method }: Request): boolean {
    return METHODS.has(method) && this.#context.tasks !== undefined;
  }

  /** Answers one. */
  async serve(request: Request, principal: Principal, reply: Reply): Promise<void> {
    const { id } = request;
    try {
      const outcome = await this.#answer(request, principal);
      if ("code" in outcome) reply.end(faultPieces(outcome, id), outcome.status);
      else reply.end(outcome.pieces);
    } catch (thrown) {
      // 429 or 503 would reach an agent as a broken transport.
      reply.end(faultPieces(toFault(toGatewayError(thrown)), id));
    }
  }

  async #answer(
    { id, method, params = {} }: Request,
    principal: Principal,
  ): Promise<Fault | { readonly pieces: Pieces }> {
    const tasks = this.#context.tasks!;
    const { taskId, inputResponses } = params;
    if (!knowsTasks(params)) return NEEDS_TASKS;
    if (typeof taskId !== "string") return invalid("params.taskId must be the id of a task.");
    const fault = method === "tasks/update" ? responsesFault(inputResponses) : undefined;
    if (fault) return fault;
    const task = await tasks.find(taskId, principal);
    // Somebody else's looks unknown.
    if (!task) return invalid("Unknown task", { taskId: taskId.slice(0, 200) });
    if (method === "tasks/get") return { pieces: [this.#detail(task, tasks, id)] };
    if (method === "tasks/update") await task.answer(inputResponses as Record<string, unknown>);
    else await task.cancel();
    const _meta = ownMeta(this.#context.host.serverInfo);
    return { pieces: resultPieces({ resultType: "complete", _meta }, id) };
  }

  #detail(task: SharedTask, { pollInterval }: TaskService, id: Request["id"]): string {
    const { serverInfo } = this.#context.host;
    const others = { resultType: "complete", _meta: ownMeta(serverInfo) };
    const detail = detailText(task, { pollInterval, serverInfo }, others);
    return `{"jsonrpc":"2.0","id":${writeJson(id)},"result":${detail}}`;
  }
}
