import type { PromptView, ResourceView } from "propylon/plugins/admin";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { rightTo, useAbout } from "../../about.tsx";
import { matches } from "../../model.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Empty } from "../../parts/page.tsx";
import { Search } from "../../parts/search.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import type { Route } from "../../request.ts";
import { useUrlState } from "../../kit/url-state.ts";

/** What else a server offers, and the routes that tell it. */
export const RESOURCES: Route = "GET /_meta/servers/:server/resources";
export const PROMPTS: Route = "GET /_meta/servers/:server/prompts";

/** The resources of a server, and the templates of their addresses. */
export function Resources({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ resources: readonly ResourceView[] }>(RESOURCES, { server });
  const [search, setSearch] = useUrlState("q");
  const canCall = rightTo(useAbout(), "POST /_meta/calls").isThere;
  return (
    <Loaded query={query} what="The list of resources">
      {({ resources }) => {
        if (resources.length === 0) return <Empty>It offers no resources.</Empty>;
        const shown = resources.filter((one) => matches(search, one.uri, one.name, one.title));
        return (
          <>
            <div className="row tools">
              <Search value={search} onChange={setSearch} label="Search resources" />
            </div>
            <Table
              label="Resources"
              rows={shown}
              keyOf={({ name, uri }) => `${name} ${uri}`}
              columns={canCall ? [...RESOURCE_COLUMNS, readColumn(server)] : RESOURCE_COLUMNS}
              empty="No matching resources."
            />
          </>
        );
      }}
    </Loaded>
  );
}

const RESOURCE_COLUMNS: readonly Column<ResourceView>[] = [
  ["Name", ({ title, name }) => <Words>{title ?? name}</Words>],
  [
    "Address",
    ({ uri, isTemplate }) => (
      <>
        <code>
          <Words>{uri}</Words>
        </code>
        {isTemplate && <span className="tag">template</span>}
      </>
    ),
  ],
  ["Type", ({ mimeType }) => <Words>{mimeType ?? "–"}</Words>],
  ["Description", ({ description }) => <Words>{description}</Words>],
];

function readColumn(server: string): Column<ResourceView> {
  return [
    "",
    ({ uri, title, name }) => (
      <Link
        className="button"
        href={`/read/${encodeURIComponent(server)}?uri=${encodeURIComponent(uri)}`}
        aria-label={`Read ${title ?? name}`}
      >
        Read
      </Link>
    ),
  ];
}

/** The prompts of a server with their arguments. */
export function Prompts({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ prompts: readonly PromptView[] }>(PROMPTS, { server });
  const canCall = rightTo(useAbout(), "POST /_meta/calls").isThere;
  return (
    <Loaded query={query} what="The list of prompts">
      {({ prompts }) =>
        prompts.length === 0 ? (
          <Empty>It offers no prompts.</Empty>
        ) : (
          <ul className="cards">
            {prompts.map((prompt) => (
              <li key={prompt.name} className="card">
                <header className="row between">
                  <h2>
                    <Words>{prompt.name}</Words>
                  </h2>
                  {canCall && (
                    <Link
                      className="button"
                      href={`/prompts/${encodeURIComponent(server)}/${encodeURIComponent(prompt.name)}`}
                      aria-label={`Get ${prompt.name}`}
                    >
                      Get
                    </Link>
                  )}
                </header>
                <p className="about">
                  <Words>{prompt.description}</Words>
                </p>
                <p className="row">
                  {prompt.arguments.map(({ name, required }) => (
                    <span key={name} className="tag">
                      <Words>{name}</Words>
                      {required === true ? "" : " (optional)"}
                    </span>
                  ))}
                </p>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
