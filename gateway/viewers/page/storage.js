// Loaded before all else in a tool's page, which runs without an origin and so without storage or cookies: what it keeps there lasts
// as long as the page. Without an origin no script may be loaded into a worker either: TensorBoard draws in one only where it
// could hand its canvas over.
const storage = () => {
  const kept = new Map();
  return {
    getItem: (key) => kept.get(String(key)) ?? null,
    setItem: (key, value) => void kept.set(String(key), String(value)),
    removeItem: (key) => void kept.delete(String(key)),
    clear: () => kept.clear(),
    key: (place) => [...kept.keys()][place] ?? null,
    get length() { return kept.size; },
  };
};
for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { value: storage(), configurable: true });
Object.defineProperty(document, "cookie", { get: () => "", set: () => undefined, configurable: true });
delete HTMLCanvasElement.prototype.transferControlToOffscreen;
delete window.OffscreenCanvas;
