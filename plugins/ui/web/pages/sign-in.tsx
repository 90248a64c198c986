import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type FormEvent, type ReactNode } from "react";
import type { About } from "../about.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { Words } from "../parts/text.tsx";
import { ask, type RequestFailure, type Route } from "../request.ts";
import { toText } from "../kit/words.ts";

const SESSION: Route = "POST /ui/session";

/** A key, or the code of a link, is exchanged for a session: the page keeps neither. */
export function SignInPage({ about }: { readonly about: About }): ReactNode {
  const client = useQueryClient();
  const code = useRef(takeCode());
  const { mutate, error, isPending } = useMutation<unknown, RequestFailure, Credentials>({
    mutationFn: ({ key, code: once }) =>
      ask(SESSION, {
        body: once === undefined ? {} : { code: once },
        ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
      }),
    // Somebody else may see something else, everywhere.
    onSuccess: () => client.invalidateQueries(),
  });
  // What a visitor who left was told is not for the next one.
  useEffect(() => {
    client.removeQueries({ predicate: ({ queryKey: [route] }) => route !== "GET /_meta/ui" });
  }, [client]);
  useEffect(() => {
    const once = code.current;
    code.current = undefined;
    if (once !== undefined) mutate({ code: once });
  }, [mutate]);
  const takesKey = about.signIn.some(({ kind }) => kind === "key");
  const hasSessions = about.signIn.some(({ kind }) => kind === "code");
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = toText(new FormData(form).get("key")).trim();
    form.reset();
    if (key !== "" && !isPending) mutate({ key });
  };
  return (
    <main className="alone">
      <h1>
        <Words>{about.name}</Words>
      </h1>
      {!hasSessions && (
        <p className="note">
          The gateway wants credentials, and has no way to sign in from a browser. Add the plugin{" "}
          <code>sessions</code> to its config.
        </p>
      )}
      {hasSessions && takesKey && (
        <form className="fields" onSubmit={submit}>
          <label className="field">
            Key or token
            <input
              name="key"
              type="password"
              required
              autoComplete="off"
              spellCheck={false}
              data-effect="field"
              aria-describedby="key-about"
            />
            <small id="key-about">
              It is sent once, in exchange for a session of this browser, and kept nowhere.
            </small>
          </label>
          <button
            type="submit"
            className="primary"
            data-route={SESSION}
            aria-busy={isPending || undefined}
          >
            Sign in
          </button>
        </form>
      )}
      {error && <Trouble error={error} what="Not signed in" />}
      {hasSessions && (
        <p className="faint">
          On the machine of the gateway, <code>propylon start</code> prints a link that signs you
          in.
        </p>
      )}
    </main>
  );
}

interface Credentials {
  readonly key?: string;
  readonly code?: string;
}

/** The code of the link, out of the address at once: addresses end up in histories. */
function takeCode(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  return code;
}
