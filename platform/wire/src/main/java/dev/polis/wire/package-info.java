/**
 * Checks wire messages for what the generated classes do not check.
 *
 * <pre>
 *   bytes or JSON ──parser──▶ message ──UnknownFields──▶ names of fields that nobody would read
 * </pre>
 *
 * <p>The generated classes lie in packages below this one, one for each proto package. A parser of
 * protobuf keeps fields that it does not know and says nothing; a node that ignored a field of its
 * parameters would do something else than the input says. So code that reads input of a person asks
 * here for what is left over.
 *
 * <p>Not promised: a check of values. What a field may hold is the business of its reader.
 *
 * <p>Why not a parser that refuses unknown fields? The one for binary messages has no such option,
 * and calls between nodes of different versions must pass unknown fields on.
 *
 * <p>Its version is that of the generated packages, given in this module's bnd.bnd.
 */
package dev.polis.wire;
