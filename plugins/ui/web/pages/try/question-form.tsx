import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { Field, Members } from "../../form/fields.tsx";
import { ProblemsContext, useProblems } from "../../form/problems.ts";
import { initialOf, toForm, toValue, type FormField } from "../../form/schema.ts";
import { formatJson, toText } from "../../kit/words.ts";
import { Passage, Words } from "../../parts/text.tsx";
import { Trouble } from "../../parts/trouble.tsx";
import { useChange } from "../../query.ts";
import type { Route } from "../../request.ts";
import type { Question } from "./call.ts";

const ANSWER: Route = "POST /_meta/questions/:id";

interface Answer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: unknown;
  readonly text?: string;
}

/** A question of a tool, and the form that answers it. All words in it are those of the server. */
export function QuestionForm({ question }: { readonly question: Question }): ReactNode {
  const { id, params } = question;
  const ref = useRef<HTMLFormElement>(null);
  const kind = kindOf(question);
  const form = toForm(kind === "form" ? params["requestedSchema"] : undefined);
  const [filled, setFilled] = useState<unknown>(() => initialOf(form));
  const [text, setText] = useState("");
  const request = (body: Answer) => ({ params: { id }, body });
  const { mutate, error, isPending } = useChange<unknown, Answer>(ANSWER, request, {});
  const problems = useProblems(error);
  useEffect(() => {
    // Who answers one question is not moved to the next.
    if (!document.activeElement?.closest(".question"))
      ref.current?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  }, []);
  const answer = (event: FormEvent): void => {
    event.preventDefault();
    if (!isPending) mutate(acceptanceOf(kind, toValue(form, filled, true), text));
  };
  return (
    <form ref={ref} className="fields question card" aria-label="Question" onSubmit={answer}>
      <p>
        <strong>The server asks: </strong>
        <Words>{toText(params["message"] ?? SAYS[kind])}</Words>
      </p>
      {kind === "form" && (
        <ProblemsContext value={problems}>
          <FormFields form={form} value={filled} onChange={setFilled} />
        </ProblemsContext>
      )}
      {kind === "page" && <PageToVisit url={toText(params["url"])} />}
      {kind === "model" && <ModelFields params={params} text={text} onChange={setText} />}
      <p className="faint">Give no password and no key: the server sees what you answer.</p>
      {error && <Trouble error={error} what="The answer" />}
      <footer className="row">
        <button
          type="submit"
          className="primary"
          data-route={ANSWER}
          aria-busy={isPending || undefined}
        >
          Answer
        </button>
        {(["decline", "cancel"] as const).map((action) => (
          <button
            key={action}
            type="button"
            data-route={ANSWER}
            onClick={() => !isPending && mutate({ action })}
          >
            {action === "decline" ? "Decline" : "Close without an answer"}
          </button>
        ))}
      </footer>
    </form>
  );
}

type Kind = "form" | "page" | "model";

const SAYS: Readonly<Record<Kind, string>> = {
  form: "fill in a form.",
  page: "visit a page.",
  model: "answer as a model would.",
};

function kindOf({ method, params }: Question): Kind {
  if (method === "sampling/createMessage") return "model";
  return params["mode"] === "url" ? "page" : "form";
}

function acceptanceOf(kind: Kind, content: unknown, text: string): Answer {
  if (kind === "model") return { action: "accept", text };
  return { action: "accept", ...(kind === "form" && { content }) };
}

function FormFields(props: {
  readonly form: FormField;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}): ReactNode {
  const { form, value, onChange } = props;
  const common = { value, onChange };
  if (form.kind === "group") return <Members {...common} members={form.members} />;
  return <Field {...common} field={form} label="answer" path="" isRequired />;
}

/** The link names the host it leads to; an address that a browser could run as a script is not a link. */
function PageToVisit({ url }: { readonly url: string }): ReactNode {
  const isPage = /^https?:\/\//i.test(url) && URL.canParse(url);
  return (
    <p>
      <code>
        <Words>{url}</Words>
      </code>{" "}
      {isPage && (
        <a href={url} target="_blank" rel="noopener noreferrer">
          Open {new URL(url).host}
        </a>
      )}
    </p>
  );
}

function ModelFields(props: {
  readonly params: Question["params"];
  readonly text: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  return (
    <>
      <Passage text={formatJson(props.params)} label="What the model is asked" />
      <label className="field">
        Answer of the model
        <textarea
          data-effect="field"
          rows={4}
          required
          maxLength={100_000}
          value={props.text}
          onChange={({ target }) => props.onChange(target.value)}
        />
      </label>
    </>
  );
}
