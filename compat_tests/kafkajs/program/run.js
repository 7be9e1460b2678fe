// Runs cases by their names, or all: each answers on one line, "CASE name PASS" or "CASE name FAIL"; after a failure, lines with "| "
// say why. Ends the process.

export async function run(cases, wanted) {
  for (const [name, body] of Object.entries(cases)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    try {
      await body()
      console.log(`CASE ${name} PASS`)
    } catch (error) {
      console.log(`CASE ${name} FAIL`)
      for (const line of String(error.stack ?? error).split('\n')) console.log(`| ${line}`)
    }
  }
  process.exit(0) // clients that a failed case left open must not keep the process alive
}
