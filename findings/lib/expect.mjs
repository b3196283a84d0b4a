// expect prints what was answered. If that is not what the script says, the script fails.
export function expect(what, want, got) {
	console.log(`${what}: ${got}`);
	if (got !== want) {
		process.exitCode = 1;
	}
}
