import { definePlugin } from "propylon";

export default definePlugin({ name: "registry", setup() {} });
