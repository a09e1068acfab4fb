import { defineConfig } from "vite";

// Relative addresses: the document carries a `base` element with the prefix that the gateway lives under.
export default defineConfig({
  root: "source",
  base: "./",
  publicDir: false,
  logLevel: "warn",
  build: { outDir: "../static", emptyOutDir: true, assetsInlineLimit: 0, target: "es2022", modulePreload: { polyfill: false } },
});
