import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useAbout, useRight } from "../../about.tsx";
import { Asking } from "../../form/asking.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import type { RequestFailure } from "../../request.ts";
import { toText } from "../../kit/words.ts";
import { useRows, type Library } from "./directory.ts";
import { Hits } from "../../parts/hits.tsx";

const MINT = "POST /_meta/team-auth/tokens";

/** The libraries that may go into a token of a user: those the user owns or manages. */
export function useScopable(
  user: string,
): UseQueryResult<{ readonly libraries: readonly Library[] }, RequestFailure> {
  return useAsk("GET /_meta/team-auth/libraries", { scopable: user }, { enabled: user !== "" });
}

type OnMinted = (title: string, secret: string) => void;

/** A new token of a user. Everybody but an admin mints for themselves. */
export function Mint({ onMinted }: { readonly onMinted: OnMinted }): ReactNode {
  const { principal } = useAbout();
  const users = useRows("users").map(({ id }) => id);
  const self = principal?.kind === "user" ? [principal.ref.slice("user:".length)] : [];
  const choices = users.length > 0 ? users : self;
  const [isOpen, setOpen] = useState(false);
  const [user, setUser] = useState("");
  const right = useRight(MINT);
  const isOff = right.reason !== undefined;
  const close = (): void => {
    setOpen(false);
    setUser("");
  };
  return (
    <>
      <button
        type="button"
        className="primary"
        data-effect="dialog"
        aria-disabled={isOff || undefined}
        title={right.reason}
        onClick={() => !isOff && setOpen(true)}
      >
        Mint a token
      </button>
      {isOpen && (
        <Dialog title="Mint a token" onClose={close}>
          <div className="fields">
            <label>
              User
              <select
                data-effect="field"
                value={user}
                onChange={({ target }) => setUser(target.value)}
              >
                <option value="">Choose …</option>
                {choices.map((id) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            </label>
          </div>
          {user !== "" && (
            <MintFor
              key={user}
              user={user}
              onMinted={(title, secret) => {
                close();
                onMinted(title, secret);
              }}
            />
          )}
        </Dialog>
      )}
    </>
  );
}

function MintFor(props: { readonly user: string; readonly onMinted: OnMinted }): ReactNode {
  const { user } = props;
  return (
    <Loaded query={useScopable(user)} what="The libraries">
      {({ libraries }) => (
        <Asking
          route={MINT}
          submit="Mint"
          body={{ user }}
          input={{
            type: "object",
            properties: {
              name: {
                type: "string",
                minLength: 1,
                maxLength: 200,
                description: "What it is for: a laptop, a program.",
              },
              libraries: {
                type: "array",
                uniqueItems: true,
                items: { enum: libraries.map(({ uid }) => uid) },
                description: "Those that the user owns or manages. The first is preferred.",
              },
              expires_at: {
                type: "string",
                format: "date-time",
                title: "Ends",
                description: "As 2027-01-31T12:00:00Z. Without it, it does not end by itself.",
              },
            },
            required: ["name"],
          }}
          about={({ libraries: chosen }) => (
            <Hits names={Array.isArray(chosen) ? chosen.map(toText) : []}>
              {Array.isArray(chosen) ? (
                <>
                  Whoever has it is <Words>{user}</Words>, and sees:
                </>
              ) : (
                <>
                  Whoever has it is <Words>{user}</Words>, and sees no library.
                </>
              )}
            </Hits>
          )}
          onDone={(answer) =>
            props.onMinted(`The new token of ${user}`, (answer as { secret: string }).secret)
          }
        />
      )}
    </Loaded>
  );
}
