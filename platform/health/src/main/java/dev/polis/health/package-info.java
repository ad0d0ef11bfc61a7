/**
 * Keeps the health of each organ and each role of this node, with the causes.
 *
 * <pre>
 *   organ ──open("consensus", dn)──▶ HealthScope ──set(condition)──┐
 *                                                                  ▼
 *   supervision tree ──runnables under dn: DEAD, NEW, …──▶  HealthTable ──all()──▶ wire service, metrics,
 *                                                                  ▲               debug, explain, gates
 *   framework ──organs that are installed and not there──▶ OrganDirectory ◀── PluginDirectory, PluginReports
 * </pre>
 *
 * <p><b>A status</b> has a level, a reason for people, a code for programs and a remedy where there
 * is one. It is the worst of the conditions that hold:
 *
 * <table>
 *   <caption>Levels, mildest first</caption>
 *   <tr><th>level</th><th>does its work</th><th>derived from</th></tr>
 *   <tr><td>UP</td><td>yes</td><td>all runnables HEALTHY or DONE, no condition worse than this</td></tr>
 *   <tr><td>DEGRADED</td><td>yes, with something to repair</td><td>a runnable that does not stop when it is cancelled; own conditions</td></tr>
 *   <tr><td>WAITING</td><td>not yet</td><td>a runnable that is NEW; an absent organ whose services are missing; own conditions</td></tr>
 *   <tr><td>DOWN</td><td>no</td><td>a runnable that is DEAD, or NEW again after it died; an organ that was stopped or could not be activated; own conditions</td></tr>
 * </table>
 *
 * <p><b>Who publishes.</b> An organ opens a scope when its component is activated and closes it
 * when it is deactivated. The table itself reads the supervision tree. An organ adds a condition
 * only for a fact that the tree cannot show: a volume that is less secure than it could be, a role
 * that no plugin runs. It clears the condition when it no longer holds. Every few seconds an organ
 * checks facts that announce no change, such as the clock, the open descriptors and the end of a
 * certificate ({@link dev.polis.health.SelfCheck}).
 *
 * <p><b>A runnable that never becomes healthy</b> is shown with the position of its thread, once it
 * has been NEW for 5 s: the innermost call and its callers. {@code explain} of its distinguished
 * name has the whole stack.
 *
 * <p><b>Roots and victims.</b> A condition names its causes, or the needs of the organ determine
 * them: {@link dev.polis.health.HealthCauses} finds the needed organs that do not work. A trouble
 * without a cause is a root; screens begin with it and give each victim one line. If an organ and
 * its runnables report the same failure, it appears once, in the organ's words. A condition without
 * a remedy gets the known one for its reason, and else the advice to read the log.
 *
 * <p><b>Not promised.</b> A history: this is the present, the log is the past. That a listener sees
 * each change: like every {@link dev.polis.base.values.Value}, the list skips what was overtaken.
 * That an organ is well because it says nothing: an organ without a scope is absent, and is listed
 * as such.
 *
 * <p><b>Why not ask the organs?</b> A request to an organ may hang, and then the answer hangs too.
 * With published conditions, a reader only reads memory. Why not the framework's own condition
 * service ({@code org.osgi.service.condition})? It knows only that a condition holds, and has no
 * place for a reason or a remedy. Why not Felix Health Checks? They run checks on a schedule, on
 * threads of their own; the table of levels is theirs, the rest is not needed.
 */
@Export
@Version("1.6.0")
package dev.polis.health;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
