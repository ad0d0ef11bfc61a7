package dev.polis.rpc;

import dev.polis.pki.Ed25519;
import dev.polis.pki.NodeId;
import dev.polis.wire.ext.Permission;
import io.grpc.Context;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;

/** Identifies the caller of a method. A handler asks {@link #current()}. */
public sealed interface RpcPeer {
  /** Key of the peer in a call's context. */
  Context.Key<RpcPeer> KEY = Context.key("polis-rpc-peer");

  /**
   * Returns the peer of the call that this thread works for.
   *
   * @throws IllegalStateException if it works for none, as on a thread that lacks the call's
   *     context
   */
  static RpcPeer current() {
    RpcPeer peer = KEY.get();
    if (peer == null) {
      throw new IllegalStateException(
          "no call in this thread's context; wrap work for other threads with Context.current().wrap(..)");
    }
    return peer;
  }

  /**
   * Returns the address of the caller, as this machine sees it.
   *
   * @throws IllegalStateException as {@link #current} does
   */
  static InetAddress currentAddress() {
    if (CallConnection.current().identity() instanceof InetSocketAddress address) {
      return address.getAddress();
    }
    throw new IllegalStateException(
        "no call over a network in this thread's context; wrap work for other threads with Context.current().wrap(..)");
  }

  /** Returns the permissions of the caller. */
  Set<Permission> permissions();

  /** Returns the caller's name for logs, without secrets. */
  String describe();

  /** Returns the caller's name for the audit log, with the key that it has proved. */
  default String identity() {
    return describe();
  }

  /** Ends a sentence about permissions that the caller does not have. */
  default String lacks(Set<Permission> missing) {
    return describe() + " does not have";
  }

  /**
   * Returns the id of the calling node, for methods that only nodes may call.
   *
   * @throws RpcException PERMISSION_DENIED if it is not a node
   */
  default NodeId requireNode() {
    throw RpcException.permissionDenied(
        "only nodes may call this, the caller is "
            + describe()
            + "; call with a node's certificate");
  }

  /**
   * Returns the key that an unauthenticated caller proved with a self-signed certificate.
   *
   * @throws RpcException UNAUTHENTICATED if it proved none
   */
  default PublicKey requireKey() {
    throw RpcException.unauthenticated(
        "this needs a self-signed certificate of the caller's own key, the caller is "
            + describe()
            + "; connect with ephemeral credentials");
  }

  /**
   * Is a node of the cluster.
   *
   * @param id its id
   * @param permissions its permissions
   */
  record Node(NodeId id, Set<Permission> permissions) implements RpcPeer {
    /** Permissions of every node. */
    static final Set<Permission> ALL_NODES =
        Set.of(Permission.PERMISSION_READ_CLUSTER_STATUS, Permission.PERMISSION_UPDATE_NODE_SELF);

    /** Copies the permissions. */
    public Node {
      permissions = Set.copyOf(permissions);
    }

    /** Creates a node with the permissions of every node. */
    public Node(NodeId id) {
      this(id, ALL_NODES);
    }

    @Override
    public NodeId requireNode() {
      return id;
    }

    @Override
    public String describe() {
      return "node " + id;
    }
  }

  /**
   * Is a person, or a program that acts for one. Its role decides what it may do.
   *
   * @param name the name in its certificate
   * @param role its role when the call began
   * @param fingerprint the fingerprint of its key
   */
  record User(String name, RpcRole role, String fingerprint) implements RpcPeer {
    @Override
    public Set<Permission> permissions() {
      return role.permissions();
    }

    @Override
    public String describe() {
      return "user \"" + name + "\"";
    }

    @Override
    public String identity() {
      return "%s (%s, key %s)".formatted(describe(), role.text(), fingerprint);
    }

    @Override
    public String lacks(Set<Permission> missing) {
      String grant =
          RpcRole.granting(missing)
              .map(
                  wanted ->
                      "the owner grants it with the role %s (polisctl operator role %s %s)"
                          .formatted(wanted.text(), name, wanted.text()))
              .orElse("the owner alone has it, and no role grants it; ask the owner to do this");
      return "%s with the role %s does not have; %s".formatted(describe(), role.text(), grant);
    }
  }

  /** Is a caller without a certificate of this cluster; it may have proved a key of its own. */
  final class Unauthenticated implements RpcPeer {
    private static final Unauthenticated ANONYMOUS = new Unauthenticated(null);

    private final PublicKey key;

    private Unauthenticated(PublicKey key) {
      this.key = key;
    }

    /** Returns the peer that proved nothing. */
    public static Unauthenticated anonymous() {
      return ANONYMOUS;
    }

    /** Returns a peer that proved this Ed25519 key. */
    public static Unauthenticated of(PublicKey key) {
      return new Unauthenticated(key);
    }

    /** Returns the key that it proved. */
    public Optional<PublicKey> publicKey() {
      return Optional.ofNullable(key);
    }

    @Override
    public PublicKey requireKey() {
      return key == null ? RpcPeer.super.requireKey() : key;
    }

    @Override
    public Set<Permission> permissions() {
      return Set.of();
    }

    @Override
    public String describe() {
      // 8 bytes distinguish the keys in a log; the whole key would fill the line.
      return key == null
          ? "unauthenticated"
          : "holder of key " + HexFormat.of().formatHex(Arrays.copyOf(Ed25519.raw(key), 8)) + "..";
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Unauthenticated peer && publicKey().equals(peer.publicKey());
    }

    @Override
    public int hashCode() {
      return publicKey().hashCode();
    }

    @Override
    public String toString() {
      return describe();
    }
  }
}
