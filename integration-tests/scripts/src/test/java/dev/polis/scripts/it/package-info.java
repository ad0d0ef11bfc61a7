/**
 * Runs the commands of {@code polis} and {@code launcher/script}, and compares their output.
 *
 * <pre>
 *   ScriptFolder ── copy of polis, launcher/script, .ci ──▶ bash ──▶ mvn, apt-get, unshare
 *                                                                     │
 *                                                      put first on the PATH where a test
 *                                                      needs a Maven that fails on demand
 * </pre>
 *
 * <p>bash, apt, dpkg and the kernel's namespaces are the real ones. Maven is played by a script,
 * because a build that fails, skips and succeeds as wanted would take a minute each time; it writes
 * reports in the form of Surefire's.
 *
 * <p>{@code MutationPatchesTest} stands beside them: it holds the patches that {@code
 * integration-tests/mutations/run} tries to the sources, so that none of them rots.
 *
 * <p>Not promised: that a real machine without the programs gets them from a real mirror. That is
 * tried by {@code integration-tests/fresh-machine/run}, which takes as long as all tests.
 */
package dev.polis.scripts.it;
