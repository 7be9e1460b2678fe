// Numbers, sizes and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

export function number(value) {
  return value === null || value === undefined ? "–" : whole.format(value);
}

export function compact(value) {
  return short.format(value);
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 100 ? tenths.format(value) : whole.format(value)} ${UNITS[unit]}`;
}

export function duration(microseconds) {
  if (microseconds === null || microseconds === undefined) return "–";
  if (microseconds < 1000) return `${whole.format(microseconds)} µs`;
  if (microseconds < 1e6) return `${tenths.format(microseconds / 1000)} ms`;
  return `${(microseconds / 1e6).toFixed(1)} s`;
}

export function age(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return `${s.toFixed(0)} s`;
  if (s < 3600) return `${(s / 60).toFixed(0)} min`;
  if (s < 86400) return `${(s / 3600).toFixed(1)} h`;
  return `${(s / 86400).toFixed(1)} d`;
}

function two(value, digits = 2) {
  return String(value).padStart(digits, "0");
}

// In the reader's own time zone, written so that it sorts.
export function time(ms) {
  const at = new Date(ms);
  if (ms < 0 || Number.isNaN(at.getTime())) return ms === -1 ? "none" : String(ms);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${clock(ms)}`;
}

export function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
}

// A time as a field of the page has it, in milliseconds since 1970; nothing for nothing.
export function milliseconds(local) {
  if (!local) return undefined;
  const ms = new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

export function counted(count, one, many) {
  return `${number(count)} ${count === 1 ? one : many ?? `${one}s`}`;
}
