package dev.polis.pki;

/** Reports that another node of the cluster answered than the one that a client meant to reach. */
public final class WrongNodeException extends PkiException {
  private static final long serialVersionUID = 1L;

  private final String expected;

  /**
   * Creates it with both nodes and the remedy.
   *
   * @param expected the node that was meant
   * @param presented the node whose certificate was presented
   */
  public WrongNodeException(NodeId expected, NodeId presented) {
    super(
        "the client expected %1$s, but %2$s presented its certificate, so it got no call; find out which machine has this address: if it is that of %2$s by right, name %2$s instead; if not, %2$s pretends to be %1$s, so remove it: polisctl node delete %2$s"
            .formatted(expected, presented));
    this.expected = expected.text();
  }

  /** Returns the node that was meant. */
  public NodeId expected() {
    return NodeId.parse(expected);
  }
}
