import type { ComponentType } from "react";
import type { About } from "./about.tsx";
import { AccessPage } from "./pages/access.tsx";
import { ActivityPage } from "./pages/activity.tsx";
import { ClientsPage } from "./pages/clients.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { ServerPage } from "./pages/server.tsx";
import { ServersPage } from "./pages/servers.tsx";
import { lazyPage } from "./parts/lazy-page.tsx";
import { PanelPage } from "./panels/panels.tsx";

/** Large, and most visits do not need them. */
const ConfigPage = lazyPage(() => import("./pages/config.tsx"));
const LogsPage = lazyPage(() => import("./pages/logs.tsx"));
const TryPage = lazyPage(() => import("./pages/try.tsx"));

/** A page of the interface. */
export interface Place {
  readonly path: string;
  readonly title: string;
  readonly page: ComponentType;
  /** Key that opens it after `g`. Pages without one are reached from others. */
  readonly key?: string;
  /** Routes of which the page needs one to have anything to show, and the plugins that bring them. */
  readonly needs?: { readonly routes: readonly string[]; readonly plugins: readonly string[] };
}

/** All pages, in the order of the navigation. */
export const PLACES: readonly Place[] = [
  { path: "/", title: "Overview", page: OverviewPage, key: "o" },
  { path: "/servers", title: "Servers", page: ServersPage, key: "s" },
  { path: "/servers/:server", title: "Server", page: ServerPage },
  {
    path: "/try/:server/:tool",
    title: "Try a tool",
    page: TryPage,
    needs: { routes: ["POST /_meta/calls"], plugins: ["admin"] },
  },
  {
    path: "/read/:server",
    title: "Read a resource",
    page: TryPage,
    needs: { routes: ["POST /_meta/calls"], plugins: ["admin"] },
  },
  {
    path: "/prompts/:server/:prompt",
    title: "Get a prompt",
    page: TryPage,
    needs: { routes: ["POST /_meta/calls"], plugins: ["admin"] },
  },
  {
    path: "/activity",
    title: "Activity",
    page: ActivityPage,
    key: "a",
    needs: { routes: ["GET /_meta/history"], plugins: ["history"] },
  },
  {
    path: "/logs",
    title: "Logs",
    page: LogsPage,
    key: "l",
    needs: { routes: ["GET /_meta/events"], plugins: ["events"] },
  },
  {
    path: "/access",
    title: "Access",
    page: AccessPage,
    key: "x",
    needs: { routes: ["GET /_meta/access/explain"], plugins: ["access"] },
  },
  { path: "/config", title: "Config", page: ConfigPage, key: "c" },
  { path: "/clients", title: "Clients", page: ClientsPage, key: "k" },
  { path: "/docs", title: "Docs", page: DocsPage, key: "d" },
  { path: "/panels/:plugin/:panel", title: "Panel", page: PanelPage },
];

/** Whether the gateway has what a page shows. */
export function isServed({ needs }: Place, about: About): boolean {
  return (
    needs === undefined ||
    about.routes.some(({ method, path }) => needs.routes.includes(`${method} ${path}`))
  );
}
