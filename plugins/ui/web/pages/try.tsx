import { useMemo, useState, type FormEvent, type ReactNode } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { useRight } from "../about.tsx";
import { Members } from "../form/fields.tsx";
import { readJson } from "../form/inputs.tsx";
import { initialOf, isObject, toForm, toValue, type FormField } from "../form/schema.ts";
import type { CallRow, ToolRow } from "../model.ts";
import { Loaded } from "../parts/loaded.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import { useUrlState } from "../kit/url-state.ts";
import { formatJson } from "../kit/words.ts";
import { CALL } from "./try/call.ts";
import { CopyAs } from "./try/copy-as.tsx";
import { Outcome } from "./try/outcome.tsx";
import { PromptPage, ResourcePage } from "./try/reading.tsx";
import { useRun } from "./try/run.ts";

/** A tool, a prompt or a resource of a server, and what it answers. */
export default function TryPage(): ReactNode {
  const { server = "", tool, prompt } = useParams();
  if (tool !== undefined) return <ToolPage server={server} name={tool} />;
  if (prompt !== undefined) return <PromptPage server={server} name={prompt} />;
  return <ResourcePage server={server} />;
}

/** One tool with a form for its arguments, and what it answers. */
function ToolPage(props: { readonly server: string; readonly name: string }): ReactNode {
  const { server, name } = props;
  const query = useAsk<{ tools: readonly ToolRow[] }>("GET /_meta/servers/:server/tools", {
    server,
  });
  const [params] = useSearchParams();
  const from = params.get("from") ?? "";
  const past = useAsk<{ entry: CallRow }>(
    "GET /_meta/history/:id",
    { id: from },
    { enabled: from !== "" },
  );
  return (
    <Page
      title={name}
      above={<Link href={`/servers/${encodeURIComponent(server)}`}>{server}</Link>}
    >
      <Loaded query={query} what={`The tools of ${server}`}>
        {({ tools }) => {
          const tool = tools.find((one) => one.name === name);
          if (!tool) return <Empty>The server does not offer this tool now.</Empty>;
          // The form begins with the arguments of the call it repeats, so it waits for them.
          if (from !== "" && past.isPending) return null;
          return (
            <Workbench
              key={`${server}/${name}/${from}`}
              server={server}
              tool={tool}
              given={past.data?.entry.arguments}
            />
          );
        }}
      </Loaded>
    </Page>
  );
}

function Workbench(props: {
  readonly server: string;
  readonly tool: ToolRow;
  readonly given: unknown;
}): ReactNode {
  const { server, tool, given } = props;
  const form = useMemo(() => toForm(tool.inputSchema), [tool.inputSchema]);
  const [filled, setFilled] = useState<unknown>(() => given ?? initialOf(form));
  const [mode, setMode] = useUrlState("mode");
  const [timeout, setTimeout] = useUrlState("timeout");
  const isJson = mode === "json" || form.kind !== "group";
  const { run, start, cancel } = useRun();
  const right = useRight(CALL);
  const args = isJson ? (filled ?? {}) : toValue(form, filled, true);
  const seconds = Number(timeout);
  const body = {
    server,
    tool: tool.name,
    arguments: args,
    ...(seconds > 0 && { timeout: Math.round(seconds * 1_000) }),
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (right.reason === undefined && run?.state !== "running") start(body);
  };
  const isOff = right.reason !== undefined || !tool.available;
  return (
    <div className="workbench">
      <form className="fields" onSubmit={submit}>
        {tool.description !== null && (
          <p className="about">
            <Words>{tool.description}</Words>
          </p>
        )}
        <div className="row between">
          <h2>Arguments</h2>
          {form.kind === "group" && (
            <button
              type="button"
              className="quiet"
              data-effect="mode"
              onClick={() => {
                if (!isJson) setFilled(args);
                setMode(isJson ? "" : "json");
              }}
            >
              {isJson ? "Edit as form" : "Edit as JSON"}
            </button>
          )}
        </div>
        {isJson ? (
          <JsonArguments value={filled ?? {}} onChange={setFilled} />
        ) : (
          <FormArguments form={form} value={filled} onChange={setFilled} />
        )}
        <label className="field">
          Timeout in seconds
          <input
            type="number"
            data-effect="field"
            min="0.001"
            step="any"
            placeholder="default"
            value={timeout}
            onChange={({ target }) => setTimeout(target.value)}
          />
        </label>
        {right.reason !== undefined && <p className="note">{right.reason}</p>}
        {!tool.available && (
          <p className="note">
            {tool.enabled ? "Its server is switched off." : "The tool is switched off."} Calls are
            refused.
          </p>
        )}
        <footer className="row">
          <button
            type="submit"
            className="primary"
            data-route={CALL}
            aria-disabled={isOff || undefined}
            aria-busy={run?.state === "running" || undefined}
          >
            Call
          </button>
          {run?.state === "running" && (
            <button type="button" data-effect="cancel" onClick={cancel}>
              Cancel
            </button>
          )}
          <CopyAs body={body} />
        </footer>
      </form>
      <div className="answer" aria-live="polite">
        <Section title="Result">
          {run ? <Outcome run={run} /> : <Empty>Nothing was called yet.</Empty>}
        </Section>
      </div>
    </div>
  );
}

function FormArguments(props: {
  readonly form: FormField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}): ReactNode {
  const { form } = props;
  if (form.kind !== "group") return null;
  if (form.members.length === 0) return <p className="faint">No arguments.</p>;
  return <Members members={form.members} value={props.value} onChange={props.onChange} />;
}

function JsonArguments(props: {
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}): ReactNode {
  const [text, setText] = useState(() => formatJson(props.value));
  return (
    <textarea
      className="code"
      data-effect="field"
      aria-label="Arguments as JSON"
      rows={Math.min(24, Math.max(6, text.split("\n").length + 1))}
      spellCheck={false}
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        const { value = {}, error } = readJson(target.value);
        const problem = error ?? (isObject(value) ? "" : "Arguments are a JSON object: {...}");
        target.setCustomValidity(problem);
        if (problem === "") props.onChange(value);
      }}
    />
  );
}
