import { setImmediate } from "node:timers/promises";
import type { Json, Principal, Server } from "propylon";
import type { ServerEvent } from "propylon/kit";
import { type EndpointContent, sessionOf, severityOf } from "propylon/internal";
import { Views, type EndpointContext } from "../view/context.ts";
import { LogLevels } from "../session/log-levels.ts";
import { type ListenStream, Listeners } from "./listen.ts";
import { notification } from "../message/reply.ts";
import { type Session, type SessionEnd, CHANGED, SessionTable } from "../session/session.ts";
import { RemoteSessions } from "../replicas/remote-sessions.ts";
import { changesSince, type SessionWishes } from "../session/session-record.ts";
import { SessionStream } from "../session/session-stream.ts";
import { SessionStore, type SessionStoreOptions } from "../session/session-store.ts";
import { MAX_PER_SUBSCRIBER, ResourceWatchers } from "../view/resource-watchers.ts";
import { View, ViewChanges } from "../view/view.ts";

/** Problems of one rebuild that the log has one by one. */
const MAX_TOLD = 100;
/** Views of principals built in one go. */
const BATCH = 10;

/** What lives on an endpoint between requests: sessions, streams, subscriptions, and the news from the servers to them. */
export class EndpointState {
  readonly sessions: SessionTable;
  readonly watchers: ResourceWatchers<Session>;
  readonly levels: LogLevels;
  readonly listeners: Listeners;
  /** Where sessions are kept; absent where they end with the process. */
  readonly store: SessionStore | undefined;
  /** Sessions at other replicas; absent where there can be none. */
  readonly remote: RemoteSessions | undefined;
  readonly #context: EndpointContext;
  readonly #watch = new ServerWatch((server, event) => this.#onEvent(server, event));
  #content: EndpointContent | undefined;
  #rebuilding = false;
  #dirty = false;

  constructor(context: EndpointContext) {
    this.#context = context;
    const { limits, store, log } = context.host;
    context.known.keep({ store, endpoint: context.name, log, onLearned: () => this.relist() });
    this.sessions = new SessionTable({
      max: limits.sessions,
      idle: limits.sessionIdle,
      onEnd: (session, reason) => this.#endSession(session, reason),
    });
    this.store = openStore(context, this.sessions, (session, wishes) =>
      this.setWishes(session, wishes),
    );
    if (context.host.store.shared) this.remote = new RemoteSessions(context, this.store!);
    this.levels = new LogLevels((level) => {
      for (const server of context.views.base.servers) server.setLogLevel?.(level, this);
    });
    this.watchers = new ResourceWatchers<Session>(({ viewer }, uri) =>
      context.views.of(viewer).watchable(uri, viewer),
    );
    this.listeners = new Listeners(
      context,
      new ResourceWatchers<ListenStream>(({ principal }, uri) =>
        context.views.of(principal).watchable(uri, principal),
      ),
    );
  }

  /** Shows something else from now on; clients are told what differs. */
  show(content: EndpointContent): void {
    const before = this.#content;
    this.#content = content;
    for (const server of before?.servers ?? [])
      if (!content.servers.includes(server)) server.setLogLevel?.(undefined, this);
    this.#watch.set(content.servers);
    const { known } = this.#context;
    known.learn(content.servers);
    this.#replace(content, new View(content, undefined, known));
    for (const server of content.servers) server.setLogLevel?.(this.levels.current, this);
    this.#context.firstConnect.start(content.servers);
    this.#context.early.retry();
  }

  /** Rebuilds the views, because a filter changed its answers: what it hides is gone with the next request. */
  refilter(): void {
    this.#context.views.forget();
    this.relist();
  }

  /** Rebuilds the views, as after a change of a catalogue. */
  relist(): void {
    this.#dirty = true;
    if (!this.#rebuilding) void this.#rebuild();
  }

  /** Ends every session and stream. */
  close(): void {
    this.#watch.set([]);
    this.#context.known.close();
    this.#context.firstConnect.end();
    this.remote?.close();
    this.store?.close();
    this.sessions.close();
    this.#context.early.retry();
    this.listeners.close();
    this.#context.streams.pulse.close();
  }

  /** Has a session as its client asked for it at another replica. */
  setWishes(session: Session, { logLevel, subscriptions, home }: SessionWishes): void {
    this.#moveTo(session, home);
    this.levels.change(session.logLevel, logLevel);
    session.logLevel = logLevel;
    const { subscriptions: here = new Set() } = session;
    for (const uri of [...here].filter((each) => !subscriptions.includes(each)))
      this.watchers.remove(session, uri);
    this.watchers.restore(
      session,
      subscriptions.filter((uri) => !here.has(uri)),
    );
  }

  /** Another replica may tell its client what happens from now on. */
  #moveTo(session: Session, home: string | undefined): void {
    session.home = home;
    const { stream } = session;
    if (!(stream instanceof SessionStream) || stream.isFollowing) return;
    if (home === this.#context.host.store.replica) return;
    session.stream = undefined;
    stream.end();
  }

  /** Tells a session's client which lists changed, if it has a stream and was not told. */
  tellChanges(session: Session): void {
    if (session.tellChanges()) this.store?.saveLater(session);
  }

  #onEvent(server: Server, event: ServerEvent): void {
    switch (event.type) {
      case "changed":
        this.relist();
        break;
      case "state":
        this.#checkSettled();
        break;
      case "updated":
        this.#tellUpdated(server, event.params, event.principal);
        break;
      case "log":
        this.#broadcastLog(server, event.params, event.principal);
        break;
      case "notification":
        break;
    }
  }

  /** Rebuilds the view; many changes at once are one rebuild. A catalogue that cannot be shown leaves the old view. */
  async #rebuild(): Promise<void> {
    this.#rebuilding = true;
    while (this.#dirty && this.#content !== undefined) {
      try {
        await this.#rebuildOnce();
      } catch (err) {
        this.#context.host.log.error(
          { err, endpoint: this.#context.name },
          "the lists could not be rebuilt",
        );
      }
    }
    this.#rebuilding = false;
    this.#checkSettled();
  }

  /** Builds the view in pieces: its lists may be long. What a reload put in its place meanwhile is newer. */
  async #rebuildOnce(): Promise<void> {
    await setImmediate();
    const content = this.#content;
    if (content === undefined) return;
    // What was reported in this turn is in the rebuild that begins now.
    this.#dirty = false;
    const { known } = this.#context;
    known.learn(content.servers);
    const isWanted = (): boolean => this.#content === content && !this.#context.closed;
    const view = await View.inTurns(content, known, isWanted);
    if (view !== undefined) this.#replace(content, view);
  }

  #replace(content: EndpointContent, view: View): void {
    const before = this.#context.views.base;
    const views = new Views(view, content, this.#context.known);
    this.#context.views = views;
    this.#tellProblems(before, view);
    if (views.isOne) this.#settle();
    else void this.#settleViews(views);
  }

  /** Says what is new. A server decides how much that is. */
  #tellProblems({ problems: known }: View, { problems }: View): void {
    const { name: endpoint, host } = this.#context;
    const before = new Set(known);
    const news = problems.filter((problem) => !before.has(problem));
    for (const problem of news.slice(0, MAX_TOLD)) host.log.warn({ endpoint }, problem);
    const more = news.length - MAX_TOLD;
    if (more > 0) host.log.warn({ endpoint, more }, "more is left out of the lists");
  }

  /** Builds what clients see before they are told, a few at a time: there may be many views. */
  async #settleViews(views: Views): Promise<void> {
    let built = views.built;
    for (const viewer of this.#viewers()) {
      views.of(viewer);
      if (views.built - built < BATCH) continue;
      built = views.built;
      await setImmediate();
    }
    if (this.#context.views === views) this.#settle();
  }

  *#viewers(): Generator<Principal | undefined> {
    for (const { viewer } of this.sessions) yield viewer;
    for (const { principal } of this.listeners) yield principal;
  }

  /** Brings everything that is open in line with what is shown now. */
  #settle(): void {
    const { views } = this.#context;
    this.watchers.rebind();
    this.listeners.rebind();
    const changes = new ViewChanges();
    for (const session of this.sessions) {
      const view = views.of(session.viewer);
      if (session.told) session.changed = changesSince(session.told, view);
      else
        for (const list of changes.between(session.view ?? view, view))
          session.changed |= CHANGED[list];
      session.view = view;
      this.tellChanges(session);
    }
    for (const listener of this.listeners) {
      const view = views.of(listener.principal);
      for (const list of changes.between(listener.view, view))
        this.listeners.changed(listener, `${list}ListChanged`);
      listener.view = view;
    }
  }

  #tellUpdated(server: Server, params: Json, owner: string | undefined): void {
    const message = notification("notifications/resources/updated", params);
    this.watchers.updated(server, params, (session, said) => {
      const { stream, principal } = session;
      if (owner !== undefined && principal !== owner) return;
      if (!this.remote) noteUpdate(session, said);
      const isSame = said === params;
      stream?.send(isSame ? message : notification("notifications/resources/updated", said));
    });
    this.listeners.updated(server, params, owner);
  }

  /** A message that belongs to no call goes to the sessions that asked for log messages at all, and may see it. */
  #broadcastLog(server: Server, params: Json, owner: string | undefined): void {
    const severity = severityOf(params["level"]);
    if (this.levels.current === undefined || severity < 0) return;
    const message = notification("notifications/message", params);
    const { views } = this.#context;
    for (const { logLevel, stream, principal, viewer } of this.sessions) {
      if (owner !== undefined && principal !== owner) continue;
      if (logLevel < 0 || severity < logLevel || !stream) continue;
      if (views.isOne || views.of(viewer).sees(server)) stream.send(message);
    }
  }

  /** A server that answered is only settled once the view shows it. */
  #checkSettled(): void {
    if (!this.#rebuilding && this.#content !== undefined)
      this.#context.firstConnect.check(this.#content.servers);
    this.#context.early.retry();
  }

  #endSession(session: Session, reason: SessionEnd): void {
    const { host, name } = this.#context;
    const why = reason === "deleted" ? undefined : `The session ended (${reason}).`;
    // Calls of a revoked credential are ended, or left to finish, where all calls in flight are.
    if (reason !== "revoked") for (const call of session.calls) call.cancel(why);
    session.stream?.end();
    for (const out of session.left ?? []) out.end();
    this.store?.forget(session);
    if (reason !== "deleted" && reason !== "shutdown") this.store?.deleteLater(session, reason);
    // A client that gave its session up reads nothing of it any more.
    host.backlog.drop((answer) => sessionOf(answer) === session.id);
    this.#context.journals.drop(session);
    this.watchers.clear(session);
    this.levels.change(session.logLevel, -1);
    host.emit("session:close", name, session.key, reason);
  }
}

/** For when its client comes back; a server decides how many there are. */
function noteUpdate(session: Session, { uri }: Json): void {
  const updates = (session.updates ??= new Map<string, number>());
  updates.delete(uri as string);
  updates.set(uri as string, session.stream?.open ? performance.now() : Infinity);
  const [oldest] = updates.keys();
  if (updates.size > MAX_PER_SUBSCRIBER) updates.delete(oldest!);
}

/** A gateway that stores nothing beyond its process keeps no sessions. */
function openStore(
  { host, name }: EndpointContext,
  sessions: SessionTable,
  onChange: SessionStoreOptions["onChange"],
): SessionStore | undefined {
  const { store, log, limits } = host;
  if (!store.durable && !store.shared) return undefined;
  return new SessionStore({
    store,
    endpoint: name,
    idle: limits.sessionIdle,
    sessions,
    onChange,
    log,
  });
}

/** Listens to a changing set of servers. */
class ServerWatch {
  readonly #listener: (server: Server, event: ServerEvent) => void;
  readonly #watched = new Map<Server, () => void>();

  constructor(listener: (server: Server, event: ServerEvent) => void) {
    this.#listener = listener;
  }

  /** Watches exactly these servers from now on. */
  set(servers: readonly Server[]): void {
    const wanted = new Set(servers);
    for (const [server, stop] of this.#watched) {
      if (wanted.has(server)) continue;
      stop();
      this.#watched.delete(server);
    }
    for (const server of wanted) {
      if (!this.#watched.has(server))
        this.#watched.set(
          server,
          server.on((event) => this.#listener(server, event)),
        );
    }
  }
}
