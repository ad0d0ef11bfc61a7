/**
 * Checks what a machine proves by its TPM, without a TPM.
 *
 * <pre>
 *   EK, AK ──▶ TpmPublic ──▶ TpmCredential ──▶ only the TPM that has both reveals the secret
 *
 *   quote, signature ──▶ TpmQuote ──▶ values of the PCRs ─┐
 *   event log ──▶ EventLog ──▶ replayed values ───────────┴─ same? ──▶ BootEvidence: what was booted
 * </pre>
 *
 * <p>All bytes come from a stranger. {@code TpmReader} reads no byte beyond their end, and the host
 * has limited their number.
 *
 * <p><b>A statement needs more than a log that fits.</b> A type of an event is not measured, and
 * the digest of a program says nothing of the log's text. So each event of PCR 4 counts as a
 * program, but for the few whose text the firmware's profile fixes, and Secure Boot is the first
 * event of PCR 7, whose digest must be that of its text: software that was booted later can only
 * append.
 *
 * <p>Not promised: a whole profile of the TCG. Each statement that is made is checked; nothing is
 * said of option ROMs, of the firmware's own version, or of its settings.
 *
 * <p>Why not a library: Microsoft's TSS.Java, the one on Maven Central, brings native code and a
 * second cryptographic provider for the few structures that are read here.
 */
package dev.polis.curator.attest;
