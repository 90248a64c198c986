import type { PromptView } from "propylon/plugins/admin";
import { useState, type FormEvent, type ReactNode } from "react";
import { Link } from "wouter";
import { useRight } from "../../about.tsx";
import { Members } from "../../form/fields.tsx";
import { toForm, toValue } from "../../form/schema.ts";
import { useUrlState } from "../../kit/url-state.ts";
import { CopyCurl } from "../../parts/curl.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Empty, Page, Section } from "../../parts/page.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import { CALL, type CallBody } from "./call.ts";
import { Outcome } from "./outcome.tsx";
import { useRun } from "./run.ts";

/** A resource of a server, by its address, and what is in it. */
export function ResourcePage({ server }: { readonly server: string }): ReactNode {
  const [uri, setUri] = useUrlState("uri");
  return (
    <Page title="Read a resource" above={<ToServer server={server} view="resources" />}>
      <Caller body={{ server, resource: uri }} label="Read">
        <label className="field">
          Address
          <input
            data-effect="field"
            required
            spellCheck={false}
            autoComplete="off"
            value={uri}
            onChange={({ target }) => setUri(target.value)}
          />
          {/\{[^}]*\}/.test(uri) && (
            <small>This is a template: replace each part in braces with a value.</small>
          )}
        </label>
      </Caller>
    </Page>
  );
}

/** A prompt of a server with a form for its arguments, and the messages that it makes of them. */
export function PromptPage(props: { readonly server: string; readonly name: string }): ReactNode {
  const { server, name } = props;
  const query = useAsk<{ prompts: readonly PromptView[] }>("GET /_meta/servers/:server/prompts", {
    server,
  });
  return (
    <Page title={name} above={<ToServer server={server} view="prompts" />}>
      <Loaded query={query} what={`The prompts of ${server}`}>
        {({ prompts }) => {
          const prompt = prompts.find((one) => one.name === name);
          if (!prompt) return <Empty>The server does not offer this prompt now.</Empty>;
          return <PromptForm key={name} server={server} prompt={prompt} />;
        }}
      </Loaded>
    </Page>
  );
}

function PromptForm(props: { readonly server: string; readonly prompt: PromptView }): ReactNode {
  const { server, prompt } = props;
  const [filled, setFilled] = useState<unknown>({});
  const form = toForm(schemaOf(prompt));
  const members = form.kind === "group" ? form.members : [];
  const body = { server, prompt: prompt.name, arguments: toValue(form, filled, true) };
  return (
    <Caller body={body} label="Get">
      {prompt.description !== null && (
        <p className="about">
          <Words>{prompt.description}</Words>
        </p>
      )}
      {members.length === 0 ? (
        <p className="faint">No arguments.</p>
      ) : (
        <Members members={members} value={filled} onChange={setFilled} />
      )}
    </Caller>
  );
}

/** Arguments of prompts are texts (MCP, Prompts). */
function schemaOf({ arguments: all }: PromptView): object {
  const properties = all.map(({ name, required }) => [
    name,
    { type: "string", ...(required === true && { minLength: 1 }) },
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: all.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

function ToServer(props: { readonly server: string; readonly view: string }): ReactNode {
  return (
    <Link href={`/servers/${encodeURIComponent(props.server)}?view=${props.view}`}>
      {props.server}
    </Link>
  );
}

/** Fields, the button that calls with what is in them, and what came of it. */
function Caller(props: {
  readonly body: CallBody;
  readonly label: string;
  readonly children: ReactNode;
}): ReactNode {
  const { body, label } = props;
  const { run, start, cancel } = useRun();
  const right = useRight(CALL);
  const isBusy = run?.state === "running";
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (right.reason === undefined && !isBusy) start(body);
  };
  return (
    <div className="workbench">
      <form className="fields" onSubmit={submit}>
        {props.children}
        {right.reason !== undefined && <p className="note">{right.reason}</p>}
        <footer className="row">
          <button
            type="submit"
            className="primary"
            data-route={CALL}
            aria-disabled={right.reason !== undefined || undefined}
            aria-busy={isBusy || undefined}
          >
            {label}
          </button>
          {isBusy && (
            <button type="button" data-effect="cancel" onClick={cancel}>
              Cancel
            </button>
          )}
          <CopyCurl request={{ route: CALL, body }} />
        </footer>
      </form>
      <div className="answer" aria-live="polite">
        <Section title="Result">
          {run ? <Outcome run={run} /> : <Empty>Nothing was asked yet.</Empty>}
        </Section>
      </div>
    </div>
  );
}
