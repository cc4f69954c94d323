{{- define "devgate.name" -}}
{{- if contains "devgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-devgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "devgate.selector" -}}
app.kubernetes.io/name: {{ if .Values.cleanup }}devgate-cleanup{{ else }}devgate{{ end }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "devgate.labels" -}}
{{ include "devgate.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "devgate.policy" -}}
{{ (.Values.policy | default dict).existingConfigMap | default (printf "%s-policy" (include "devgate.name" .)) }}
{{- end }}

{{- define "devgate.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}
