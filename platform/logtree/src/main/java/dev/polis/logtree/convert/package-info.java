/**
 * Turns lines of foreign programs into entries.
 *
 * <pre>
 *   etcd, kubelet, containerd --line--&gt; LineConverter --payload--&gt; LogTree.append(dn, payload)
 *                                |
 *                                +-- empty: not of this format, or says nothing
 * </pre>
 *
 * <p>A converter knows one format, keeps no state between lines and never throws because of a line.
 * An unreadable line is not lost: either the converter makes an entry that quotes it, or it returns
 * nothing and its caller appends the line as a raw entry.
 *
 * <p>Not promised: that several lines of one message become one entry. The formats do not mark the
 * end of a message, and a guess would delay lines.
 */
@org.osgi.annotation.bundle.Export
@org.osgi.annotation.versioning.Version("2.0.0")
package dev.polis.logtree.convert;
