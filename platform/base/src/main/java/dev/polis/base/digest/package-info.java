/**
 * Computes digests of texts, files and programs.
 *
 * <pre>
 *   bytes ──▶ Sha256.hex        program ──▶ Sha256.ofProgram ──▶ fingerprint of a process
 *   parts ──▶ Sha256.begin ──▶ update, update, … ──▶ digest
 * </pre>
 *
 * <p>Not promised: that two programs with the same digest are the same to the last byte. Only their
 * length and their beginning are read.
 *
 * <p>Why not a library: Java has the algorithm. It only declares an exception for a runtime that
 * lacks it, and there is none.
 */
@Export
@Version("1.0.0")
package dev.polis.base.digest;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
