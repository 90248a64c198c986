import type { PanelTools } from "propylon/panels";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import { rightTo, useAbout, type About } from "../about.tsx";
import { GATEWAY } from "../kit/address.ts";
import { POLL_MS, readEvents } from "../events.ts";
import { useEvents, useLiveState } from "../live.tsx";
import { commandFor } from "../parts/curl.tsx";
import { useNotify } from "../parts/notices.tsx";
import { send, type Route } from "../request.ts";
import { isDark } from "../theme.ts";
import { PanelTrouble } from "./trouble.tsx";

type Undo = (() => void) | undefined;
type Mount = (element: HTMLElement, tools: PanelTools) => Undo | Promise<Undo>;

/** How long a module may take to load. */
const LOAD_MS = 10_000;

/** A panel that is a script of its plugin, in a shadow root: its styles stay its own, and so do those of the page. */
export function ModulePanel(props: {
  readonly url: string;
  readonly plugin: string;
  readonly server: string | undefined;
}): ReactNode {
  const { url, plugin, server } = props;
  const host = useRef<HTMLDivElement>(null);
  const listeners = useRef(new Set<(kind: string, data: unknown) => void>());
  const [problem, setProblem] = useState<string>();
  const [, navigate] = useLocation();
  const notify = useNotify();
  const about = useAbout();
  const isLive = useLiveState().kind === "live";
  const [isDrawn, setDrawn] = useState(false);
  const given = useRef({ navigate, notify, about });
  useEffect(() => {
    given.current = { navigate, notify, about };
  });
  const tell = (kind: string, data: unknown): void => {
    for (const listener of listeners.current) attempt(() => listener(kind, data), setProblem);
  };
  useEvents(tell);
  useEffect(() => tell("rights", {}), [about]);
  useEffect(() => {
    if (isLive) return undefined;
    const timer = setInterval(() => tell("poll", {}), POLL_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  useEffect(() => {
    const leaving = new AbortController();
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const element = document.createElement("div");
    root.replaceChildren(element);
    const heard = listeners.current;
    const tools: PanelTools = {
      fetch: (path, init) =>
        fetch(new URL(path.replace(/^\/+/, ""), GATEWAY), {
          ...init,
          credentials: "same-origin",
          signal: leaving.signal,
        }),
      send: (route, details) => send(route, { ...details, signal: leaving.signal }),
      events: (listener) => {
        heard.add(listener);
        return () => heard.delete(listener);
      },
      readEvents,
      theme: isDark() ? "dark" : "light",
      navigate: (path) => given.current.navigate(path),
      notify: (text) => given.current.notify(text),
      refusal: (route) => refusalOf(given.current.about, route),
      curl: (route, details) => commandFor(given.current.about, { ...details, route }),
      signal: leaving.signal,
      server,
    };
    let undo: Undo;
    const undoOnce = (): void => {
      const last = undo;
      undo = undefined;
      if (typeof last === "function") attempt(last, () => {});
    };
    void load(url)
      .then((mount) => (leaving.signal.aborted ? undefined : mount(element, tools)))
      .then(
        (result) => {
          undo = result;
          setDrawn(true);
          if (leaving.signal.aborted) undoOnce();
        },
        (error: unknown) => {
          if (!leaving.signal.aborted) setProblem(messageOf(error));
        },
      );
    return () => {
      leaving.abort();
      undoOnce();
      heard.clear();
      root.replaceChildren();
    };
  }, [url, server]);
  return (
    <>
      {problem !== undefined && <PanelTrouble plugin={plugin} message={problem} />}
      <div
        ref={host}
        hidden={problem !== undefined}
        aria-busy={(problem === undefined && !isDrawn) || undefined}
      />
    </>
  );
}

/** Why a route is not for the visitor; a gateway that does not have it says so, too. */
function refusalOf(about: About, route: Route): string | undefined {
  const { isThere, reason } = rightTo(about, route);
  return isThere ? reason : "This gateway does not offer it.";
}

/** Imports a module of the gateway. One that never comes is given up. */
async function load(url: string): Promise<Mount> {
  const address = new URL(url.replace(/^\/+/, ""), GATEWAY);
  if (address.origin !== GATEWAY.origin) throw new Error("Its script is not of this gateway.");
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error("Its script did not load in 10 seconds.")), LOAD_MS),
  );
  const module = await Promise.race([
    import(/* @vite-ignore */ address.href) as Promise<{ default?: unknown }>,
    late,
  ]);
  if (typeof module.default !== "function")
    throw new Error("Its script has no default export that is a function.");
  return module.default as Mount;
}

function attempt(work: () => unknown, onError: (message: string) => void): void {
  try {
    work();
  } catch (error) {
    onError(messageOf(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
