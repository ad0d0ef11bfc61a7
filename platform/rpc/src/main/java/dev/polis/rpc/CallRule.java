package dev.polis.rpc;

import com.google.protobuf.DescriptorProtos.MethodOptions;
import com.google.protobuf.Descriptors;
import dev.polis.wire.ext.Authorization;
import dev.polis.wire.ext.AuthorizationOuterClass;
import dev.polis.wire.ext.Permission;
import dev.polis.wire.options.Options;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * States who may call a method, read from the method's options.
 *
 * @param method full name
 * @param stated whether the method has a rule; if not, every call is refused
 * @param need permissions the caller has to hold
 * @param open whether strangers may call it
 * @param mutating whether calls of it are audited
 */
record CallRule(
    String method, boolean stated, Set<Permission> need, boolean open, boolean mutating) {

  static CallRule of(MethodDescriptor<?, ?> method) {
    return options(method)
        .filter(options -> options.hasExtension(AuthorizationOuterClass.authorization))
        .map(options -> stated(method.getFullMethodName(), options))
        .orElseGet(() -> new CallRule(method.getFullMethodName(), false, Set.of(), false, true));
  }

  private static Optional<MethodOptions> options(MethodDescriptor<?, ?> method) {
    return method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier supplier
        ? Optional.ofNullable(supplier.getMethodDescriptor())
            .map(Descriptors.MethodDescriptor::getOptions)
        : Optional.empty();
  }

  private static CallRule stated(String method, MethodOptions options) {
    Authorization rule = options.getExtension(AuthorizationOuterClass.authorization);
    List<Permission> need = rule.getNeedList();
    boolean open = need.isEmpty() && rule.getAllowUnauthenticated();
    boolean mutating =
        need.isEmpty()
            ? !options.getExtension(Options.readOnly)
            : need.stream().anyMatch(permission -> !permission.name().contains("_READ_"));
    return new CallRule(method, true, Set.copyOf(need), open, mutating);
  }

  /**
   * Returns whether calls are a node's reports about itself. They come too often for the list of
   * changes that people make.
   */
  boolean selfReport() {
    return need.equals(Set.of(Permission.PERMISSION_UPDATE_NODE_SELF));
  }

  /**
   * Checks that the caller may call the method.
   *
   * @throws RpcException INTERNAL, UNAUTHENTICATED or PERMISSION_DENIED, with the reason
   */
  void admit(CallIdentity.Caller caller) {
    if (!stated) {
      throw new RpcException(
          Status.Code.INTERNAL,
          "method %s has no authorization rule, so the node denies it to all callers; this is a defect of the node's software"
              .formatted(method));
    }
    if (open) {
      return;
    }
    if (caller.peer() instanceof RpcPeer.Unauthenticated) {
      throw RpcException.unauthenticated(
          "%s needs a certificate of this cluster: %s".formatted(method, caller.reason()));
    }
    if (!caller.peer().permissions().containsAll(need)) {
      Set<Permission> missing = new HashSet<>(need);
      missing.removeAll(caller.peer().permissions());
      throw RpcException.permissionDenied(
          "%s needs %s, which %s"
              .formatted(
                  method,
                  String.join(", ", missing.stream().map(Permission::name).sorted().toList()),
                  caller.peer().lacks(missing)));
    }
  }
}
