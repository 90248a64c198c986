import { useState, type FormEvent, type ReactNode } from "react";
import type { ServerRow, ToolRow } from "../../model.ts";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Empty, Section } from "../../parts/page.tsx";
import { Choice } from "../../parts/search.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import type { Route } from "../../request.ts";
import { useUrlState } from "../../kit/url-state.ts";

export const EXPLAIN: Route = "GET /_meta/access/explain";

interface Explanation {
  readonly principal: string;
  readonly allowed: boolean;
  readonly steps: readonly {
    readonly step: string;
    readonly verdict: "pass" | "fail" | "unknown";
    readonly reason: string;
    readonly change?: string;
    readonly place?: string;
  }[];
}

/** Why somebody may, or may not, call a tool: step by step, with the place in the config. */
export function Explain(): ReactNode {
  const [principal, setPrincipal] = useUrlState("principal");
  const [server, setServer] = useUrlState("server");
  const [tool, setTool] = useUrlState("tool");
  const [who, setWho] = useState(principal);
  const servers = useAsk<{ servers: readonly ServerRow[] }>("GET /_meta/servers");
  const tools = useAsk<{ tools: readonly ToolRow[] }>(
    "GET /_meta/servers/:server/tools",
    { server },
    { enabled: server !== "" },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setPrincipal(who.trim());
  };
  return (
    <>
      <form className="row tools" onSubmit={submit}>
        <input
          data-effect="field"
          aria-label="Who"
          placeholder="Who, as key:ci; empty: you"
          value={who}
          onChange={({ target }) => setWho(target.value)}
          onBlur={() => setPrincipal(who.trim())}
        />
        <Choice
          label="Server"
          value={server}
          options={choices("Server", servers.data?.servers)}
          onChange={(name) => {
            setTool("");
            setServer(name);
          }}
        />
        <Choice
          label="Tool"
          value={tool}
          options={choices("Tool", server === "" ? [] : tools.data?.tools)}
          onChange={setTool}
        />
      </form>
      {server === "" || tool === "" ? (
        <Empty>Choose a server and a tool to see who may call it, and why.</Empty>
      ) : (
        <Ladder principal={principal} server={server} tool={tool} />
      )}
    </>
  );
}

/** Names to choose from, and before the choice what is chosen. */
function choices(
  what: string,
  named: readonly { readonly name: string }[] = [],
): readonly (readonly [value: string, text: string])[] {
  return [["", `${what} …`], ...named.map(({ name }) => [name, name] as const)];
}

const VERDICTS: Readonly<Record<string, readonly [Tone, string]>> = {
  pass: ["ok", "passes"],
  fail: ["error", "fails"],
  unknown: ["off", "cannot be told"],
};

function Ladder(props: {
  readonly principal: string;
  readonly server: string;
  readonly tool: string;
}): ReactNode {
  const query = useAsk<Explanation>(EXPLAIN, props);
  return (
    <Loaded query={query} what="The explanation">
      {({ principal, allowed, steps }) => (
        <Section title="Decision">
          <p className="row">
            <Badge tone={allowed ? "ok" : "error"}>
              {allowed ? "may call it" : "may not call it"}
            </Badge>
            <Words>{principal}</Words>
          </p>
          <ol className="list">
            {steps.map(({ step, verdict, reason, change, place }) => {
              const [tone, word] = VERDICTS[verdict]!;
              return (
                <li key={step}>
                  <strong>{step}</strong>
                  <Badge tone={tone}>{word}</Badge>
                  <span className="grow">
                    <Words>{`${reason} ${change ?? ""}`}</Words>
                  </span>
                  {place !== undefined && <code>{place}</code>}
                </li>
              );
            })}
          </ol>
        </Section>
      )}
    </Loaded>
  );
}
