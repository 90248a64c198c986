import { Component, type ReactNode } from "react";
import { useParams } from "wouter";
import { useAbout, type KnownPanel } from "../about.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Words } from "../parts/text.tsx";
import { Described } from "./described.tsx";
import { ModulePanel } from "./module.tsx";
import { PanelTrouble } from "./trouble.tsx";

/** The panels of plugins at a place, one below the other. */
export function PanelsAt(props: {
  readonly place: KnownPanel["place"];
  readonly server?: string;
}): ReactNode {
  const { panels } = useAbout();
  return panels
    .filter(({ place }) => place === props.place)
    .map((panel) => (
      <Section key={panel.id} title={panel.title}>
        <PanelContent panel={panel} server={props.server} searchName={`q.${panel.id}`} />
      </Section>
    ));
}

/** A panel that has a page of its own. */
export function PanelPage(): ReactNode {
  const { plugin, panel } = useParams();
  const found = useAbout().panels.find(({ id }) => id === `${plugin}/${panel}`);
  if (!found)
    return (
      <Page title="No such page">
        <Empty>
          The plugin <Words>{plugin}</Words> is not loaded, has no such page, or does not show it to
          you.
        </Empty>
      </Page>
    );
  return (
    <Page title={found.title}>
      <PanelContent key={found.id} panel={found} server={undefined} searchName="q" />
    </Page>
  );
}

function PanelContent(props: {
  readonly panel: KnownPanel;
  readonly server: string | undefined;
  readonly searchName: string;
}): ReactNode {
  const { panel, server } = props;
  return (
    <Fence plugin={panel.plugin}>
      {panel.description !== null && (
        <p className="faint">
          <Words>{panel.description}</Words>
        </p>
      )}
      {panel.view ? (
        <Described
          view={panel.view}
          title={panel.title}
          context={server === undefined ? {} : { server }}
          searchName={props.searchName}
        />
      ) : (
        <ModulePanel url={panel.module ?? ""} plugin={panel.plugin} server={server} />
      )}
    </Fence>
  );
}

/** What a panel throws is shown in its own place, and the rest of the page goes on. */
class Fence extends Component<
  { readonly plugin: string; readonly children: ReactNode },
  { readonly error: Error | undefined }
> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state as { error: Error | undefined };
    if (!error) return this.props.children;
    return <PanelTrouble plugin={this.props.plugin} message={error.message} />;
  }
}
