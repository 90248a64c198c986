import { useId, useState, type FormEvent, type ReactNode } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../parts/dialog.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { useChange } from "../query.ts";
import type { Route } from "../request.ts";
import { toText } from "../kit/words.ts";

const ADD: Route = "POST /_meta/servers";

/** A new server: a program of this machine, or an address. The body is what the API takes, and nothing else. */
export function AddServer({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [kind, setKind] = useState<"url" | "command">("url");
  const [, navigate] = useLocation();
  const id = useId();
  const { mutate, error, isPending } = useChange<unknown, { name: string }>(
    ADD,
    (body) => ({ body }),
    { onSuccess: (_, { name }) => navigate(`/servers/${encodeURIComponent(name)}`) },
  );
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!isPending) mutate(bodyOf(new FormData(event.currentTarget)));
  };
  return (
    <Dialog title="Add a server" onClose={onClose}>
      <form className="fields" onSubmit={submit}>
        <label>
          Name
          <input
            name="name"
            required
            maxLength={64}
            pattern="[A-Za-z0-9_.\-]{1,64}"
            autoComplete="off"
            aria-describedby={`${id}-name`}
          />
          <small id={`${id}-name`}>Letters, digits, dots, dashes and underscores.</small>
        </label>
        <fieldset className="row">
          <legend>It is</legend>
          <label className="row">
            <input
              type="radio"
              name="kind"
              value="url"
              data-effect="field"
              checked={kind === "url"}
              onChange={() => setKind("url")}
            />
            an address
          </label>
          <label className="row">
            <input
              type="radio"
              name="kind"
              value="command"
              data-effect="field"
              checked={kind === "command"}
              onChange={() => setKind("command")}
            />
            a program
          </label>
        </fieldset>
        {kind === "url" ? (
          <>
            <label>
              Address
              <input name="url" type="url" required placeholder="https://host/mcp" />
            </label>
            <label>
              Headers
              <textarea name="headers" rows={2} placeholder="Name: value, one in each line" />
            </label>
          </>
        ) : (
          <>
            <label>
              Executable
              <input name="command" required placeholder="npx" spellCheck={false} />
            </label>
            <label>
              Arguments
              <textarea name="args" rows={3} placeholder="one in each line" spellCheck={false} />
              <small>
                The command must be one of <code>plugins.admin.allowedCommands</code>.
              </small>
            </label>
          </>
        )}
        <label className="row">
          <input type="checkbox" name="enabled" defaultChecked data-effect="field" />
          Start it now
        </label>
        {error && <Trouble error={error} what="Not added" />}
        <footer className="row">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="primary"
            data-route={ADD}
            aria-busy={isPending || undefined}
          >
            Add
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function bodyOf(form: FormData): { name: string } & Record<string, unknown> {
  const text = (name: string): string => toText(form.get(name)).trim();
  const lines = (name: string): string[] =>
    text(name)
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  const enabled = form.get("enabled") !== null;
  const common = { name: text("name"), ...(!enabled && { enabled }) };
  if (form.get("kind") === "command")
    return { ...common, command: text("command"), args: lines("args") };
  const headers = lines("headers").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const;
  });
  return {
    ...common,
    url: text("url"),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
  };
}
