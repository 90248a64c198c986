import type { ClientsView, EndpointView } from "propylon/plugins/admin";
import { useState, type ReactNode } from "react";
import { GATEWAY } from "../kit/address.ts";
import { Snippet } from "../parts/copy.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Choice } from "../parts/search.tsx";
import { useAsk } from "../query.ts";

/** What to paste where, so that a client uses the gateway. */
export function ClientsPage(): ReactNode {
  const query = useAsk<{ endpoints: readonly EndpointView[] }>("GET /_meta");
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

function Snippets({ endpoints }: { readonly endpoints: readonly EndpointView[] }): ReactNode {
  const [chosen, setChosen] = useState(endpoints[0]!.name);
  const [way, setWay] = useState<string>();
  const endpoint = endpoints.find(({ name }) => name === chosen) ?? endpoints[0]!;
  const url = new URL(endpoint.path.replace(/^\//, ""), GATEWAY).href;
  const key = endpoint.open || way === "login" ? 0 : 1;
  const query = useAsk<ClientsView>("GET /_meta/clients", { url, key });
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
        {endpoint.open && <span className="faint">no authentication</span>}
        {!endpoint.open && query.data?.login && (
          <Choice
            label="How clients get in"
            value={way ?? "key"}
            onChange={setWay}
            options={[
              ["key", "with a key"],
              ["login", "with a login"],
            ]}
          />
        )}
      </div>
      <Loaded query={query} what="The clients">
        {({ clients }) =>
          clients.map(({ title, where, text }) => (
            <Section key={`${title}: ${where}`} title={title}>
              <p className="faint">{where}</p>
              <Snippet text={text} label={`For ${title}: ${where}`} />
            </Section>
          ))
        }
      </Loaded>
    </>
  );
}
