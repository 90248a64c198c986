import type { ReactNode } from "react";
import { useAbout, type About } from "../about.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { Words } from "../parts/text.tsx";
import { addressOf, type Route } from "../request.ts";

/** Where the documentation of this version is. */
const DOCS = "https://github.com/propylon/propylon/blob/main/docs";

const GUIDES = [
  ["Start", "guide/start.md"],
  ["Config", "guide/config.md"],
  ["Access", "guide/access.md"],
  ["Troubleshooting", "guide/troubleshooting.md"],
  ["Errors by code", "reference/errors.md"],
  ["Write a plugin", "guide/write-a-plugin.md"],
] as const;

/** Pages about what runs here, and every route of the gateway. */
export function DocsPage(): ReactNode {
  const about = useAbout();
  const has = (route: Route): boolean =>
    about.routes.some(({ method, path }) => `${method} ${path}` === route);
  return (
    <Page title="Docs">
      <Section title="Guides">
        <ul className="links">
          {GUIDES.map(([title, path]) => (
            <li key={path}>
              <a href={`${DOCS}/${path}`} rel="noreferrer">
                {title}
              </a>
            </li>
          ))}
        </ul>
      </Section>
      {has("GET /docs") && (
        <Section title="Tools over HTTP">
          <p>
            <a href={addressOf("GET /docs").href}>Every tool with its operation</a>, and the{" "}
            <a href={addressOf("GET /openapi.json").href}>OpenAPI document</a> for generators.
          </p>
        </Section>
      )}
      <Section title="Plugins that are loaded">
        <ul className="links">
          {about.plugins.map((plugin) => (
            <li key={plugin}>
              {about.routes.length > 0 && FIRST_PARTY.test(plugin) ? (
                <a href={`${DOCS}/plugins/${plugin}.md`} rel="noreferrer">
                  {plugin}
                </a>
              ) : (
                <Words>{plugin}</Words>
              )}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Routes">
        <Table
          label="Routes"
          rows={about.routes}
          keyOf={({ method, path }, index) => `${method} ${path} ${index}`}
          columns={ROUTE_COLUMNS}
          empty="There is no route that you may see."
          isDense
        />
      </Section>
    </Page>
  );
}

const ROUTE_COLUMNS: readonly Column<About["routes"][number]>[] = [
  [
    "Route",
    ({ method, path }) => (
      <code>
        {method} {path}
      </code>
    ),
  ],
  ["Plugin", ({ plugin }) => <Words>{plugin}</Words>],
  ["Least role", ({ access }) => access],
  [
    "You",
    ({ allowed, why }) =>
      allowed ? "may" : why === "role" ? "need that role" : "may not: read-only",
  ],
];

/** Names of plugins that come with the gateway have a page; a plugin of somebody else is a path or a package. */
const FIRST_PARTY =
  /^(?:a2a|a2a-client|access|admin|agents|breaker|conformance|console|events|gating|health|history|lifecycle|mcp|metrics|nats|oauth|oauth-client|oauth-resource|openapi|payloads|postgres|progress|ratelimit|redis|registry|rest|servers|sessions|sidecar|sqlite|tasks|team-auth|telemetry|ui)$/;
