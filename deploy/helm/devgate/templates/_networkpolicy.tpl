{{- define "devgate.networkpolicy" -}}
{{- $oci := .Values.oci | default dict }}
{{- if .Values.networkPolicy.enabled }}
# In: probes and metrics. Out: nothing but what is below. It holds where the cluster's network enforces policies; the kubelet's own
# probes pass in any case.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "devgate.workload" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "devgate.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "devgate.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - port: metrics
          protocol: TCP
  {{- $on := .Values.overlays | default dict }}
  {{- $agent := or $on.dra $on.events $on.nodeCondition }}
  {{- if or $on.oci $agent }}
  egress:
    {{- if $agent }}
    # The API server, which has no address that a policy could name.
    - ports:
        {{- range required "dra.ports: none would be all; say at which the API server is" (.Values.dra | default dict).ports }}
        - {port: {{ . }}, protocol: TCP}
        {{- end }}
    {{- end }}
    {{- if $on.oci }}
    - ports:
        {{- range required "oci.ports: none would be all; say at which registries are" $oci.ports }}
        - {port: {{ . }}, protocol: TCP}
        {{- end }}
      {{- with $oci.to }}
      to: {{ toJson . }}
      {{- end }}
    - ports:
        - {port: 53, protocol: UDP}
        - {port: 53, protocol: TCP}
    {{- end }}
  {{- else }}
  egress: []
  {{- end }}
{{- end }}
{{- end }}
