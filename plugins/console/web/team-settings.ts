import type { InstanceView, WorkspaceView } from "propylon/plugins/console";
import type { PanelTools } from "propylon/panels";
import { makeCopy } from "./copy.ts";
import { make, setRefusal } from "./elements.ts";
import type { Gateway } from "./gateway.ts";

const SAVE = "PUT /api/v1/workspaces/:id/teams";

/** What {@link TeamSettings} works with. */
interface TeamSettingsParts {
  readonly gateway: Gateway;
  readonly tools: PanelTools;
  readonly onSaved: () => void;
  readonly isOpen: boolean;
}

/** The teams of a workspace, to be attached and detached. */
export class TeamSettings {
  readonly #parts: TeamSettingsParts;
  readonly #details: HTMLDetailsElement;
  readonly #boxes: HTMLElement;
  readonly #save: HTMLButtonElement;
  #workspace = "";
  /** Whether somebody chose what is not saved yet. */
  #isEdited = false;

  constructor(parent: Element, parts: TeamSettingsParts) {
    this.#parts = parts;
    this.#details = make(parent, "details", { open: parts.isOpen });
    make(this.#details, "summary", { textContent: "Workspace settings" }, { effect: "settings" });
    const teams = make(this.#details, "fieldset");
    make(teams, "legend", { textContent: "Attached Teams" });
    this.#boxes = make(teams, "div");
    const row = make(teams, "div", { className: "row" });
    this.#save = make(row, "button", { type: "button", textContent: "Save" }, { route: SAVE });
    this.#save.addEventListener("click", () => void this.#store());
    makeCopy(row, parts.tools, () =>
      parts.tools.curl(SAVE, { params: { id: this.#workspace }, body: { teams: this.#chosen() } }),
    );
    this.#boxes.addEventListener("change", () => (this.#isEdited = true));
  }

  open(): void {
    this.#details.open = true;
    this.#details.scrollIntoView();
    this.#boxes.querySelector("input")?.focus();
  }

  /** What somebody chose and did not save stays as it is, until they look at another workspace. */
  show(instances: readonly InstanceView[], workspace: WorkspaceView | undefined): void {
    if (workspace?.id !== this.#workspace) this.#isEdited = false;
    this.#workspace = workspace?.id ?? "";
    const chosen = this.#isEdited ? this.#chosen() : (workspace?.teams ?? []);
    this.#save.disabled = this.#workspace === "";
    setRefusal(this.#save, this.#parts.tools.refusal(SAVE));
    this.#draw(instances, chosen);
  }

  #draw(instances: readonly InstanceView[], chosen: readonly string[]): void {
    const drawn = [...this.#boxes.querySelectorAll("input")];
    const isSame =
      drawn.length === instances.length &&
      instances.length > 0 &&
      instances.every(({ id }, at) => drawn[at]!.value === id);
    // A box that has the focus keeps it.
    if (isSame) {
      for (const box of drawn) box.checked = chosen.includes(box.value);
      return;
    }
    this.#boxes.replaceChildren();
    if (instances.length === 0) this.#boxes.append("No instance is registered yet.");
    for (const { id, name } of instances) {
      const label = make(this.#boxes, "label");
      const checked = chosen.includes(id);
      make(label, "input", { type: "checkbox", value: id, checked }, { effect: "field" });
      label.append(name);
    }
  }

  #chosen(): readonly string[] {
    const checked = this.#boxes.querySelectorAll<HTMLInputElement>("input:checked");
    return [...checked].map(({ value }) => value);
  }

  async #store(): Promise<void> {
    const { gateway, tools, onSaved } = this.#parts;
    const { refusal, notify, signal } = tools;
    if (refusal(SAVE) !== undefined || this.#save.ariaBusy === "true") return;
    this.#save.ariaBusy = "true";
    try {
      await gateway.attach(this.#workspace, this.#chosen());
      this.#isEdited = false;
      notify("Saved.");
      onSaved();
    } catch (error) {
      if (!signal.aborted) notify(`Not saved: ${(error as Error).message}`);
    } finally {
      this.#save.ariaBusy = "false";
    }
  }
}
