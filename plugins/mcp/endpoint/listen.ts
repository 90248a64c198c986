import { faultPieces, EventStream } from "../message/stream.ts";
import type { ServerResponse } from "node:http";
import type { Json, Principal, Server } from "propylon";
import { isObject } from "propylon/kit";
import type { RpcId } from "propylon/internal";
import type { EndpointContext } from "../view/context.ts";
import { knowsTasks, type Request } from "../message/client-message.ts";
import { invalid } from "../view/forward.ts";
import { META_SERVER_INFO, META_SUBSCRIPTION, RPC } from "../message/protocol.ts";
import { type Accepts, notification, resultPieces, sendFault } from "../message/reply.ts";
import { NEEDS_TASKS } from "../call/task-methods.ts";
import { TaskWatchers } from "../call/task-watchers.ts";
import type { View } from "../view/view.ts";
import type { ResourceWatchers } from "../view/resource-watchers.ts";

/** A change as the listen filter names it. */
export type ListChange = "toolsListChanged" | "resourcesListChanged" | "promptsListChanged";

const NOTIFICATION: Readonly<Record<ListChange, string>> = {
  toolsListChanged: "notifications/tools/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
};

/** One open `subscriptions/listen` stream. */
export interface ListenStream {
  readonly id: RpcId;
  readonly stream: EventStream;
  readonly lists: ReadonlySet<ListChange>;
  readonly principal: Principal;
  /** What its client knows of. */
  view: View;
  subscriptions?: Set<string> | undefined;
  /** The tasks that it is told of, if it asked for any. */
  tasks?: TaskWatchers | undefined;
  /** Nothing may be sent before the acknowledgement. */
  acknowledged: boolean;
}

/** All listen streams of one endpoint (2026-07-28). */
export class Listeners {
  readonly #context: EndpointContext;
  readonly #subscriptions: ResourceWatchers<ListenStream>;
  readonly #open = new Set<ListenStream>();

  constructor(context: EndpointContext, subscriptions: ResourceWatchers<ListenStream>) {
    this.#context = context;
    this.#subscriptions = subscriptions;
  }

  /** Serves a `subscriptions/listen` request: acknowledges what will be sent, then sends it until one side closes. */
  open({ id, params }: Request, res: ServerResponse, accepts: Accepts, principal: Principal): void {
    const wanted = params?.["notifications"];
    if (!isFilter(wanted))
      return sendFault(res, invalid("params.notifications must be a subscription filter."), id);
    if (wanted["taskIds"] !== undefined && this.#context.tasks && !knowsTasks(params))
      return sendFault(res, NEEDS_TASKS, id);
    if (!accepts.events)
      return sendFault(
        res,
        { status: 406, code: RPC.server, message: "The client must accept text/event-stream." },
        id,
      );
    if (this.#open.size >= this.#context.host.limits.sessions) {
      return sendFault(
        res,
        { status: 200, code: RPC.internal, message: "Too many subscriptions are open." },
        id,
      );
    }
    const honored = this.#honored(wanted);
    const listener: ListenStream = {
      id,
      stream: new EventStream(res, this.#context.streams),
      lists: listsOf(honored),
      principal,
      view: this.#context.views.of(principal),
      acknowledged: false,
    };
    this.#open.add(listener);
    const release = this.#context.host.leases.open(principal, (message) => {
      const fault = { code: RPC.server, message, data: { code: "unauthorized" } };
      listener.stream.cut(faultPieces(fault, id));
    });
    res.once("close", () => {
      release();
      this.#closed(listener);
    });
    // The acknowledgement may take a moment; the client must see at once that it was heard.
    if (honored["resourceSubscriptions"] ?? honored["taskIds"]) res.flushHeaders();
    void this.#acknowledge(listener, honored);
  }

  /** The acknowledgement is a promise, so it waits until the servers know what is watched; without resources it is at once. */
  async #acknowledge(listener: ListenStream, wanted: Json): Promise<void> {
    const { resourceSubscriptions: uris, taskIds, ...lists } = wanted;
    const watched = Array.isArray(uris) ? await this.#watch(listener, uris as string[]) : [];
    const tasks = Array.isArray(taskIds)
      ? await this.#watchTasks(listener, taskIds as string[])
      : [];
    const honored = {
      ...lists,
      ...(watched.length > 0 && { resourceSubscriptions: watched }),
      ...(tasks.length > 0 && { taskIds: tasks }),
    };
    const notifications = { notifications: honored };
    listener.acknowledged = true;
    listener.stream.send(
      this.#stamp(listener, "notifications/subscriptions/acknowledged", notifications),
    );
    if (Object.keys(honored).length === 0) this.#end(listener);
    else listener.tasks?.start();
  }

  /** The tasks that are its principal's. */
  #watchTasks(listener: ListenStream, ids: readonly string[]): Promise<readonly string[]> {
    const { id, stream, principal } = listener;
    listener.tasks = new TaskWatchers(this.#context, {
      principal,
      meta: { [META_SUBSCRIPTION]: id },
      send: (message) => void stream.send(message),
    });
    return listener.tasks.find(ids);
  }

  /** The resources that a server agreed to tell about. */
  async #watch(listener: ListenStream, uris: readonly string[]): Promise<readonly string[]> {
    const faults = await Promise.all(uris.map((uri) => this.#subscriptions.add(listener, uri)));
    return uris.filter((_uri, index) => faults[index] === undefined);
  }

  /** Everyone who listens. */
  [Symbol.iterator](): IterableIterator<ListenStream> {
    return this.#open.values();
  }

  /** Tells somebody that a list changed, if they asked for it. */
  changed(listener: ListenStream, list: ListChange): void {
    if (listener.acknowledged && listener.lists.has(list))
      listener.stream.send(this.#stamp(listener, NOTIFICATION[list], {}));
  }

  /** Tells those who watch a resource that it was updated. @param owner ref of the only one for whom; default: everyone */
  updated(server: Server, params: Json, owner?: string): void {
    this.#subscriptions.updated(server, params, (listener, said) => {
      if (owner !== undefined && listener.principal.ref !== owner) return;
      if (!listener.acknowledged) return;
      listener.stream.send(this.#stamp(listener, "notifications/resources/updated", said));
    });
  }

  /** Moves resource subscriptions to the servers of the current view. */
  rebind(): void {
    this.#subscriptions.rebind();
  }

  /** Ends all streams with their result. */
  close(): void {
    for (const listener of this.#open) this.#end(listener);
  }

  #honored(wanted: Json): Json {
    const able = (key: string): boolean => this.#context.views.base.capabilities[key] !== undefined;
    const uris = wanted["resourceSubscriptions"] as readonly string[] | undefined;
    const taskIds = wanted["taskIds"] as readonly string[] | undefined;
    return {
      ...(wanted["toolsListChanged"] === true && { toolsListChanged: true }),
      ...(wanted["promptsListChanged"] === true && able("prompts") && { promptsListChanged: true }),
      ...(wanted["resourcesListChanged"] === true &&
        able("resources") && { resourcesListChanged: true }),
      ...(uris !== undefined &&
        uris.length > 0 &&
        able("resources") && { resourceSubscriptions: [...new Set(uris)] }),
      ...(this.#context.tasks && taskIds && taskIds.length > 0 && { taskIds }),
    };
  }

  #stamp({ id }: ListenStream, method: string, params: Json): string {
    const meta = isObject(params["_meta"]) ? params["_meta"] : undefined;
    return notification(method, { ...params, _meta: { ...meta, [META_SUBSCRIPTION]: id } });
  }

  #end({ id, stream }: ListenStream): void {
    const _meta = { [META_SUBSCRIPTION]: id, [META_SERVER_INFO]: this.#context.host.serverInfo };
    stream.end(resultPieces({ resultType: "complete", _meta }, id));
  }

  #closed(listener: ListenStream): void {
    this.#open.delete(listener);
    this.#subscriptions.clear(listener);
    listener.tasks?.close();
  }
}

function listsOf(honored: Json): Set<ListChange> {
  return new Set(
    (Object.keys(NOTIFICATION) as ListChange[]).filter((list) => honored[list] === true),
  );
}

function isFilter(value: unknown): value is Json {
  if (!isObject(value)) return false;
  const flags = Object.keys(NOTIFICATION).every(
    (key) => value[key] === undefined || typeof value[key] === "boolean",
  );
  return flags && isTextList(value["resourceSubscriptions"]) && isTextList(value["taskIds"]);
}

function isTextList(value: unknown): boolean {
  return (
    value === undefined || (Array.isArray(value) && value.every((each) => typeof each === "string"))
  );
}
