import { useState, type ReactNode } from "react";
import { GATEWAY } from "../address.ts";
import { useAbout } from "../about.tsx";
import { Snippet } from "../parts/copy.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Choice } from "../parts/search.tsx";
import { useAsk } from "../query.ts";
import { formatJson } from "../words.ts";

interface Endpoint {
  readonly name: string;
  readonly path: string;
  readonly open: boolean;
  readonly servers: readonly string[];
}

/** Variable that every snippet takes the key from, so that none of them holds it. */
const KEY = "PROPYLON_API_KEY";

/** What to paste where, so that a client uses the gateway. */
export function ClientsPage(): ReactNode {
  const query = useAsk<{ endpoints: readonly Endpoint[] }>("GET /_meta");
  return (
    <Page title="Clients">
      <Loaded query={query} what="The endpoints">
        {({ endpoints }) =>
          endpoints.length === 0 ? (
            <Empty>The gateway serves no MCP endpoint: see endpoints in the config.</Empty>
          ) : (
            <Snippets endpoints={endpoints} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Snippets({ endpoints }: { readonly endpoints: readonly Endpoint[] }): ReactNode {
  const [chosen, setChosen] = useState(endpoints[0]!.name);
  const { name: gateway } = useAbout();
  const endpoint = endpoints.find(({ name }) => name === chosen) ?? endpoints[0]!;
  const url = new URL(endpoint.path.replace(/^\//, ""), GATEWAY).href;
  const name =
    gateway
      .split("/")
      .at(-1)!
      .replaceAll(/[^\w-]/g, "-")
      .slice(0, 40) || "propylon";
  const key = endpoint.open ? undefined : KEY;
  return (
    <>
      <div className="row tools">
        {endpoints.length > 1 && (
          <Choice
            label="Endpoint"
            value={chosen}
            onChange={setChosen}
            options={endpoints.map((one) => [one.name, one.name] as const)}
          />
        )}
        <code>{url}</code>
        <span className="faint">
          {endpoint.open ? "no authentication" : `a key as bearer token, from the variable ${KEY}`}
        </span>
      </div>
      {snippetsOf(name, url, key).map(([title, where, text]) => (
        <Section key={title} title={title}>
          <p className="faint">{where}</p>
          <Snippet text={text} label={`For ${title}`} />
        </Section>
      ))}
    </>
  );
}

function snippetsOf(
  name: string,
  url: string,
  key: string | undefined,
): readonly (readonly [title: string, where: string, text: string])[] {
  const header = (value: string): object =>
    key === undefined ? {} : { headers: { Authorization: `Bearer ${value}` } };
  const option = key === undefined ? "" : ` --header "Authorization: Bearer $${key}"`;
  return [
    ["Claude Code", "In a shell", `claude mcp add --transport http ${name} ${url}${option}`],
    [
      "Claude, in a project",
      "File .mcp.json",
      formatJson({ mcpServers: { [name]: { type: "http", url, ...header(`\${${KEY}}`) } } }),
    ],
    [
      "Cursor",
      "File .cursor/mcp.json",
      formatJson({ mcpServers: { [name]: { url, ...header(`\${env:${KEY}}`) } } }),
    ],
    ["VS Code", "File .vscode/mcp.json", formatJson(vscode(name, url, key))],
    [
      "A shell",
      "The tools of the endpoint, and a call",
      `npx propylon tools ${url}${key === undefined ? "" : ` --key "$${key}"`}`,
    ],
  ];
}

function vscode(name: string, url: string, key: string | undefined): object {
  if (key === undefined) return { servers: { [name]: { type: "http", url } } };
  const input = {
    type: "promptString",
    id: "propylon-key",
    description: "Key of the gateway",
    password: true,
  };
  const headers = { Authorization: "Bearer ${input:propylon-key}" };
  return { inputs: [input], servers: { [name]: { type: "http", url, headers } } };
}
