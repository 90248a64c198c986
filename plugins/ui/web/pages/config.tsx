import type { ReactNode } from "react";
import { rightTo, useAbout } from "../about.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Reload } from "../parts/reload.tsx";
import { Passage, Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { formatJson } from "../kit/words.ts";
import { ConfigValues, ORIGIN } from "./config/values.tsx";

const EFFECTIVE: Route = "GET /_meta/config/effective";

/** What is in force, and where it stands. */
export default function ConfigPage(): ReactNode {
  const about = useAbout();
  const file = useAsk<{ path: string | null }>("GET /_meta/config");
  const right = rightTo(about, EFFECTIVE);
  const origin = rightTo(about, ORIGIN);
  return (
    <Page title="Config" actions={<Reload />}>
      <Loaded query={file} what="The config file">
        {({ path }) => (
          <p>
            {path === null ? (
              "The gateway was made without a file, so it cannot be reloaded."
            ) : (
              <>
                File{" "}
                <code>
                  <Words>{path}</Words>
                </code>
                {about.generation !== null && `, applied ${about.generation} times`}
              </>
            )}
          </p>
        )}
      </Loaded>
      <Section title="Values">
        {origin.reason === undefined ? <ConfigValues /> : <p className="note">{origin.reason}</p>}
      </Section>
      <Section title="In force">
        {right.reason === undefined ? <Effective /> : <p className="note">{right.reason}</p>}
      </Section>
    </Page>
  );
}

function Effective(): ReactNode {
  const query = useAsk<{ config: unknown }>(EFFECTIVE);
  return (
    <Loaded query={query} what="The config in force">
      {({ config }) => (
        <Passage text={formatJson(config)} label="Config in force, secrets masked" />
      )}
    </Loaded>
  );
}
